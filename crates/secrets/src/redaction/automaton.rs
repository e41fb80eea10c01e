//! Aho–Corasick over all forms: after each byte, the longest suffix of the stream that starts some form.
//!
//! That suffix is exactly what may not be passed on yet, so the automaton's depth is the hold-back, and its
//! running time is linear whatever the input. Forms are inserted in sorted order, which lays nodes out so that the
//! first child of a node is the next node: a node costs twenty bytes, not a table. Speed on clean text is the
//! filter's work; a table of all transitions was rejected for its size (500 secrets are a million nodes).

use super::forms::Form;
use zeroize::{Zeroize, Zeroizing};

pub(super) type Node = u32;
pub(super) const ROOT: Node = 0;
const NONE: Node = 0;

/// What is known of one node, together because a step asks for most of it.
#[derive(Clone, Copy)]
struct Place {
    /// The next child of the same parent.
    sibling: Node,
    /// The longest proper suffix that is a node.
    fail: Node,
    /// The longest suffix, the node itself included, that is a whole form.
    output: Node,
    depth: u32,
    /// What leads here.
    byte: u8,
}

pub(super) struct Automaton {
    places: Vec<Place>,
    /// Whole forms in node order, with the index of their label.
    ends: Vec<(Node, u32)>,
    /// Children of the root, by byte.
    first: Zeroizing<Vec<Node>>,
    /// Children of the root's children, which have the most, by byte; `rows` says where those of a first byte are.
    second: Zeroizing<Vec<Node>>,
    rows: Zeroizing<Vec<usize>>,
}

impl Automaton {
    /// `forms` sorted by bytes, without duplicates.
    pub(super) fn new(forms: &[Form]) -> Self {
        let most = 1 + forms.iter().map(|form| form.bytes.len()).sum::<usize>();
        let mut automaton = Self {
            // Never grown: growth would leave unwiped copies behind.
            places: Vec::with_capacity(most),
            ends: Vec::with_capacity(forms.len()),
            first: Zeroizing::new(vec![NONE; 256]),
            second: Zeroizing::new(Vec::new()),
            rows: Zeroizing::new(vec![0; 256]),
        };
        automaton.add(0, 0);
        automaton.insert(forms);
        automaton.index();
        automaton.link();
        automaton
    }

    fn add(&mut self, byte: u8, depth: u32) -> Node {
        let node = self.places.len() as Node;
        self.places.push(Place { sibling: NONE, fail: ROOT, output: NONE, depth, byte });
        node
    }

    fn insert(&mut self, forms: &[Form]) {
        let mut path = vec![ROOT];
        let mut before: &[u8] = &[];
        for form in forms {
            let shared = before.iter().zip(form.bytes.iter()).take_while(|(a, b)| a == b).count();
            let elder = path.get(shared + 1).copied();
            path.truncate(shared + 1);
            for (depth, byte) in form.bytes.iter().enumerate().skip(shared) {
                let node = self.add(*byte, depth as u32 + 1);
                path.push(node);
            }
            if let Some(elder) = elder {
                self.places[elder as usize].sibling = path[shared + 1];
            }
            self.ends.push((path[form.bytes.len()], form.label));
            before = &form.bytes;
        }
    }

    fn index(&mut self) {
        let mut parents = Vec::new();
        let mut parent = self.eldest(ROOT);
        while parent != NONE {
            parents.push(parent);
            parent = self.places[parent as usize].sibling;
        }
        self.second = Zeroizing::new(vec![NONE; parents.len() * 256]);
        for (rank, parent) in parents.into_iter().enumerate() {
            let byte = usize::from(self.places[parent as usize].byte);
            self.first[byte] = parent;
            self.rows[byte] = rank * 256;
            let mut child = self.eldest(parent);
            while child != NONE {
                self.second[rank * 256 + usize::from(self.places[child as usize].byte)] = child;
                child = self.places[child as usize].sibling;
            }
        }
    }

    /// Breadth first, because a node's suffixes are shorter than the node.
    fn link(&mut self) {
        for (node, _) in &self.ends {
            self.places[*node as usize].output = *node;
        }
        let mut queue = Vec::with_capacity(self.places.len());
        queue.push(ROOT);
        let mut next = 0;
        while let Some(&parent) = queue.get(next) {
            next += 1;
            let mut child = self.eldest(parent);
            while child != NONE {
                self.link_child(parent, child);
                queue.push(child);
                child = self.places[child as usize].sibling;
            }
        }
    }

    fn link_child(&mut self, parent: Node, child: Node) {
        if parent != ROOT {
            let byte = self.places[child as usize].byte;
            self.places[child as usize].fail = self.step(self.places[parent as usize].fail, byte);
        }
        if self.places[child as usize].output == NONE {
            self.places[child as usize].output =
                self.places[self.places[child as usize].fail as usize].output;
        }
    }

    fn eldest(&self, node: Node) -> Node {
        let next = node as usize + 1;
        match self.places.get(next) {
            Some(place) if place.depth == self.places[node as usize].depth + 1 => next as Node,
            _ => NONE,
        }
    }

    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let found = match self.places[node as usize].depth {
            0 => self.first[usize::from(byte)],
            1 => self.second[self.rows[usize::from(self.places[node as usize].byte)] + usize::from(byte)],
            _ => {
                let mut child = self.eldest(node);
                while child != NONE && self.places[child as usize].byte != byte {
                    child = self.places[child as usize].sibling;
                }
                child
            }
        };
        (found != NONE).then_some(found)
    }

    pub(super) fn step(&self, mut node: Node, byte: u8) -> Node {
        loop {
            if let Some(child) = self.child(node, byte) {
                return child;
            }
            if node == ROOT {
                return ROOT;
            }
            node = self.fail(node);
        }
    }

    pub(super) fn fail(&self, node: Node) -> Node {
        self.places[node as usize].fail
    }

    pub(super) fn depth(&self, node: Node) -> usize {
        self.places[node as usize].depth as usize
    }

    /// Nothing continues here: a whole form that starts no longer one.
    pub(super) fn is_leaf(&self, node: Node) -> bool {
        self.eldest(node) == NONE && node != ROOT
    }

    /// The longest form that ends here.
    pub(super) fn output(&self, node: Node) -> Option<Node> {
        let end = self.places[node as usize].output;
        (end != NONE).then_some(end)
    }

    /// The label of a form that ends at or starts with this node. Nodes are numbered depth first, so the next
    /// end is below the node or is the node.
    pub(super) fn label_below(&self, node: Node) -> u32 {
        let next = self.ends.partition_point(|(end, _)| *end < node);
        self.ends.get(next).map_or(0, |(_, label)| *label)
    }
}

impl Drop for Automaton {
    fn drop(&mut self) {
        for place in &mut self.places {
            place.byte.zeroize();
        }
    }
}
