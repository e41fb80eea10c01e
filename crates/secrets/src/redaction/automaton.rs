//! Aho–Corasick over all forms: after each byte, the longest suffix of the stream that starts some form.
//!
//! That suffix is exactly what may not be passed on yet, so the automaton's depth is the hold-back, and its
//! running time is linear whatever the input. Forms are inserted in sorted order, which lays nodes out so that the
//! first child of a node is the next node: a node costs seventeen bytes, not a table. Speed on clean text is the
//! filter's work; a table of all transitions was rejected for its size (500 secrets are a million nodes).

use super::forms::Form;
use zeroize::Zeroizing;

pub(super) type Node = u32;
pub(super) const ROOT: Node = 0;
const NONE: Node = 0;

pub(super) struct Automaton {
    /// The byte that leads to each node.
    bytes: Zeroizing<Vec<u8>>,
    /// The next child of the same parent.
    sibling: Vec<Node>,
    /// The longest proper suffix that is a node.
    fail: Vec<Node>,
    depth: Vec<u32>,
    /// The longest suffix, the node itself included, that is a whole form.
    output: Vec<Node>,
    /// Whole forms in node order, with the index of their label.
    ends: Vec<(Node, u32)>,
    /// Children of the root, by byte.
    first: Zeroizing<Vec<Node>>,
    /// Children of the root's children, which have the most: the row is the first byte.
    second: Zeroizing<Vec<Node>>,
}

impl Automaton {
    /// `forms` sorted by bytes, without duplicates.
    pub(super) fn new(forms: &[Form]) -> Self {
        let most = 1 + forms.iter().map(|form| form.bytes.len()).sum::<usize>();
        let mut automaton = Self {
            // Never grown: growth would leave unwiped copies behind.
            bytes: Zeroizing::new(Vec::with_capacity(most)),
            sibling: Vec::with_capacity(most),
            fail: Vec::new(),
            depth: Vec::with_capacity(most),
            output: Vec::new(),
            ends: Vec::with_capacity(forms.len()),
            first: Zeroizing::new(vec![NONE; 256]),
            second: Zeroizing::new(vec![NONE; 256 * 256]),
        };
        automaton.add(0, 0);
        automaton.insert(forms);
        automaton.index();
        automaton.link();
        automaton
    }

    fn add(&mut self, byte: u8, depth: u32) -> Node {
        let node = self.bytes.len() as Node;
        self.bytes.push(byte);
        self.sibling.push(NONE);
        self.depth.push(depth);
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
                self.sibling[elder as usize] = path[shared + 1];
            }
            self.ends.push((path[form.bytes.len()], form.label));
            before = &form.bytes;
        }
    }

    fn index(&mut self) {
        for node in 1..self.bytes.len() {
            if self.depth[node] == 1 {
                self.first[usize::from(self.bytes[node])] = node as Node;
            }
        }
        for byte in 0..256 {
            let parent = self.first[byte];
            let mut child = if parent == NONE { NONE } else { self.eldest(parent) };
            while child != NONE {
                self.second[byte * 256 + usize::from(self.bytes[child as usize])] = child;
                child = self.sibling[child as usize];
            }
        }
    }

    /// Breadth first, because a node's suffixes are shorter than the node.
    fn link(&mut self) {
        self.fail = vec![ROOT; self.bytes.len()];
        self.output = vec![NONE; self.bytes.len()];
        for (node, _) in &self.ends {
            self.output[*node as usize] = *node;
        }
        let mut queue = Vec::with_capacity(self.bytes.len());
        queue.push(ROOT);
        let mut next = 0;
        while let Some(&parent) = queue.get(next) {
            next += 1;
            let mut child = self.eldest(parent);
            while child != NONE {
                self.link_child(parent, child);
                queue.push(child);
                child = self.sibling[child as usize];
            }
        }
    }

    fn link_child(&mut self, parent: Node, child: Node) {
        if parent != ROOT {
            let byte = self.bytes[child as usize];
            self.fail[child as usize] = self.step(self.fail[parent as usize], byte);
        }
        if self.output[child as usize] == NONE {
            self.output[child as usize] = self.output[self.fail[child as usize] as usize];
        }
    }

    fn eldest(&self, node: Node) -> Node {
        let next = node as usize + 1;
        match self.depth.get(next) {
            Some(depth) if *depth == self.depth[node as usize] + 1 => next as Node,
            _ => NONE,
        }
    }

    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let found = match self.depth[node as usize] {
            0 => self.first[usize::from(byte)],
            1 => self.second[usize::from(self.bytes[node as usize]) * 256 + usize::from(byte)],
            _ => {
                let mut child = self.eldest(node);
                while child != NONE && self.bytes[child as usize] != byte {
                    child = self.sibling[child as usize];
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
        self.fail[node as usize]
    }

    pub(super) fn depth(&self, node: Node) -> usize {
        self.depth[node as usize] as usize
    }

    /// Nothing continues here: a whole form that starts no longer one.
    pub(super) fn is_leaf(&self, node: Node) -> bool {
        self.eldest(node) == NONE && node != ROOT
    }

    /// The longest form that ends here.
    pub(super) fn output(&self, node: Node) -> Option<Node> {
        let end = self.output[node as usize];
        (end != NONE).then_some(end)
    }

    /// The label of a form that ends at or starts with this node. Nodes are numbered depth first, so the next
    /// end is below the node or is the node.
    pub(super) fn label_below(&self, node: Node) -> u32 {
        let next = self.ends.partition_point(|(end, _)| *end < node);
        self.ends.get(next).map_or(0, |(_, label)| *label)
    }
}
