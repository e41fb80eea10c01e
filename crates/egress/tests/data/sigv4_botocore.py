#!/usr/bin/env python3
"""Signs a table of requests with botocore, once as a sandboxed client would and once as it should be afterwards.

    pip install botocore==1.44.0
    python3 sigv4_botocore.py > sigv4_botocore.jsonl

Each line is a request with the two signatures: "stand_in" as it leaves the sandbox, "real" as the upstream must see it.
The keys are those of Amazon's own documentation, or invented here.
"""

import datetime
import json
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

STAND_IN = ("AKIACOFFERDAMSTANDIN00000001", "stand-in-secret-half-0123456789abcdefghij")
REAL = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
SESSION = "IQoJb3JpZ2luX2VjEXAMPLE//session+token=="
STAND_IN_SESSION = "stand-in-session-token"
NOW = datetime.datetime(2026, 11, 15, 23, 50, 0)

AUTHS = {
    "header": botocore.auth.SigV4Auth,
    "s3": botocore.auth.S3SigV4Auth,
    "query": botocore.auth.SigV4QueryAuth,
    "s3-query": botocore.auth.S3SigV4QueryAuth,
}

CASES = [
    # name, auth, service, method, url, headers, body, options
    ("get", "header", "sts", "GET", "https://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15", {}, "", {}),
    ("post form", "header", "sts", "POST", "https://sts.us-east-1.amazonaws.com/", {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, "Action=GetCallerIdentity&Version=2011-06-15", {}),
    ("bedrock", "header", "bedrock", "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse", {"Content-Type": "application/json"}, '{"messages":[]}', {}),
    ("bedrock arn", "header", "bedrock", "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fx/invoke", {"Accept": "*/*"}, "{}", {}),
    ("dynamodb", "header", "dynamodb", "POST", "https://dynamodb.eu-west-1.amazonaws.com/", {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}, "{}", {"region": "eu-west-1"}),
    ("spaces in a header", "header", "execute-api", "GET", "https://x.execute-api.us-east-1.amazonaws.com/prod/a", {"X-Note": "  two   spaces  ", "X-Empty": ""}, "", {}),
    ("odd path", "header", "execute-api", "GET", "https://x.execute-api.us-east-1.amazonaws.com/prod//a/./b/../c%20d/(e)/~f/", {}, "", {}),
    ("odd query", "header", "execute-api", "GET", "https://x.execute-api.us-east-1.amazonaws.com/?b=2&a=%2F%3D&a=%20&B&empty=&~x=-._~", {}, "", {}),
    ("port", "header", "es", "GET", "https://search.example.com:8443/_cat", {}, "", {}),
    ("unsigned payload", "header", "lex", "POST", "https://runtime-v2-lex.us-east-1.amazonaws.com/x", {}, "body", {"unsigned": True}),
    ("s3 get", "s3", "s3", "GET", "https://bucket.s3.amazonaws.com/key%20with%20spaces/%C3%BC/a//b/../c", {"Range": "bytes=0-9"}, "", {}),
    ("s3 list", "s3", "s3", "GET", "https://s3.us-east-1.amazonaws.com/bucket?list-type=2&prefix=a%2Fb&continuation-token=1%2B2%3D&acl", {}, "", {}),
    ("s3 put", "s3", "s3", "PUT", "https://bucket.s3.amazonaws.com/a%2Bb", {"Content-Length": "5"}, "hello", {}),
    ("s3 put unsigned", "s3", "s3", "PUT", "https://bucket.s3.amazonaws.com/a", {"Content-MD5": "XUFAKrxLKna5cZ2REBfFkg==", "Content-Length": "5"}, "hello", {"streaming": True}),
    ("presigned sts", "query", "sts", "GET", "https://sts.us-east-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15", {"x-k8s-aws-id": "cluster"}, "", {}),
    ("presigned s3", "s3-query", "s3", "GET", "https://bucket.s3.amazonaws.com/a%20b/c?response-content-type=text%2Fplain", {}, "", {}),
    ("presigned s3 put", "s3-query", "s3", "PUT", "https://bucket.s3.amazonaws.com/a", {"Content-Type": "text/plain"}, "", {}),
]


def sign(case, keys, session):
    _, auth, service, method, url, headers, body, options = case
    request = AWSRequest(method=method, url=url, headers=dict(headers), data=body)
    if options.get("unsigned"):
        request.context["payload_signing_enabled"] = False
    if options.get("streaming"):
        request.context["has_streaming_input"] = True
    signer = AUTHS[auth](Credentials(keys[0], keys[1], session), service, options.get("region", "us-east-1"))
    with mock.patch("botocore.auth.get_current_datetime", return_value=NOW):
        signer.add_auth(request)
    return {"url": request.url, "headers": [[name, value] for name, value in request.headers.items()]}


def main():
    for case in CASES:
        for stand_in_session, session in [(None, None), (STAND_IN_SESSION, SESSION), (None, SESSION), (STAND_IN_SESSION, None)]:
            tag = {(None, None): "", (STAND_IN_SESSION, SESSION): ", session", (None, SESSION): ", session added", (STAND_IN_SESSION, None): ", session dropped"}
            line = {
                "name": case[0] + tag[(stand_in_session, session)],
                "method": case[3],
                "body": case[6],
                "session": session,
                "stand_in": sign(case, STAND_IN, stand_in_session),
                "real": sign(case, REAL, session),
            }
            print(json.dumps(line))


if __name__ == "__main__":
    main()
