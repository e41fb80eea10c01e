"use strict";
// The tools that this script was granted: every function takes an object of arguments and gives a promise.

const net = require("node:net");

const STREAM = 3;

class ToolError extends Error {
  constructor(error) {
    super(error.message);
    this.name = "ToolError";
    this.kind = error.kind;
  }
}

const waiting = new Map();
let socket = null;
let next = 0;
let arrived = Buffer.alloc(0);

function lost(error) {
  const message = `there is nobody who serves calls: ${error ? error.message : "the other side is gone"}`;
  for (const { reject } of waiting.values()) reject(new ToolError({ kind: "unavailable", message }));
  waiting.clear();
  socket = null;
}

function read(chunk) {
  arrived = Buffer.concat([arrived, chunk]);
  while (arrived.length >= 4 && arrived.length >= 4 + arrived.readUInt32BE(0)) {
    const length = arrived.readUInt32BE(0);
    const answer = JSON.parse(arrived.subarray(4, 4 + length).toString("utf8"));
    arrived = arrived.subarray(4 + length);
    const call = waiting.get(answer.id);
    if (!call) continue;
    waiting.delete(answer.id);
    if (answer.error) call.reject(new ToolError(answer.error));
    else call.resolve(answer.result);
  }
  // A script that waits for nothing may end.
  if (socket && waiting.size === 0) socket.unref();
}

function connection() {
  if (socket === null) {
    socket = new net.Socket({ fd: STREAM, readable: true, writable: true });
    socket.on("data", read).on("error", lost).on("close", () => lost(null));
  }
  return socket;
}

function call(tool, given = {}) {
  return new Promise((resolve, reject) => {
    const id = ++next;
    const body = Buffer.from(JSON.stringify({ id, tool, arguments: given }), "utf8");
    const header = Buffer.alloc(4);
    header.writeUInt32BE(body.length);
    waiting.set(id, { resolve, reject });
    try {
      const stream = connection();
      stream.ref();
      stream.write(Buffer.concat([header, body]));
    } catch (error) {
      lost(error);
    }
  });
}

exports.ToolError = ToolError;
/** Call a tool by its name. */
exports.call = call;
