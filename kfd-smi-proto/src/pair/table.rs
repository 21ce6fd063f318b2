//! The open spans, in memory of a fixed size: [`Table`].

use super::map::{Id, Map, NONE};
use super::span::{Key, Span, hash_of_pid};
use crate::field::{GpuId, Pid};

/// At most `K` open spans, in the order of their STARTs, all of them and those of each process.
///
/// Finding, adding, removing and the oldest (of all, of a process) take the same time however many there are.
#[derive(Clone)]
pub(super) struct Table<const K: usize> {
    nodes: Map<Node, K>,
    owners: Map<Owner, K>,
    all: List,
}

/// An open span with its place in two lists.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) span: Span,
    /// How many evictions wait for their restore; 1 for everything else.
    pub(super) depth: u32,
    in_all: Links,
    in_own: Links,
    /// The process it belongs to.
    owner: Id,
}

/// A process with open spans.
#[derive(Clone, Copy)]
struct Owner {
    pid: Pid,
    count: usize,
    own: List,
}

/// The ends of a list: the oldest and the newest.
#[derive(Clone, Copy)]
struct List {
    first: Id,
    last: Id,
}

#[derive(Clone, Copy)]
struct Links {
    before: Id,
    behind: Id,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl Links {
    const NONE: Self = Self { before: NONE, behind: NONE };
}

/// Which of its two lists a node is asked for.
type Which = fn(&mut Node) -> &mut Links;

fn in_all(node: &mut Node) -> &mut Links {
    &mut node.in_all
}

fn in_own(node: &mut Node) -> &mut Links {
    &mut node.in_own
}

impl<const K: usize> Table<K> {
    pub(super) const fn new() -> Self {
        Self { nodes: Map::new(), owners: Map::new(), all: List::EMPTY }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.nodes.len() >= K
    }

    pub(super) fn find(&self, gpu: Option<GpuId>, key: &Key) -> Option<Id> {
        self.nodes.find(key.hash(gpu), |node| node.span.gpu == gpu && node.span.activity.key() == *key)
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.value(id)
    }

    pub(super) fn node_mut(&mut self, id: Id) -> Option<&mut Node> {
        self.nodes.value_mut(id)
    }

    /// How many spans of the process are open.
    pub(super) fn count_of(&self, pid: Pid) -> usize {
        self.owner(pid).map_or(0, |owner| owner.count)
    }

    pub(super) const fn oldest(&self) -> Id {
        self.all.first
    }

    pub(super) fn oldest_of(&self, pid: Pid) -> Id {
        self.owner(pid).map_or(NONE, |owner| owner.own.first)
    }

    fn owner(&self, pid: Pid) -> Option<&Owner> {
        self.owners.value(self.owner_id(pid)?)
    }

    fn owner_id(&self, pid: Pid) -> Option<Id> {
        self.owners.find(hash_of_pid(pid), |owner| owner.pid == pid)
    }

    /// The next newer one of all.
    pub(super) fn newer(&self, id: Id) -> Id {
        self.node(id).map_or(NONE, |node| node.in_all.behind)
    }

    /// The next newer one of the same process.
    pub(super) fn newer_of_same(&self, id: Id) -> Id {
        self.node(id).map_or(NONE, |node| node.in_own.behind)
    }

    /// Adds a span as the newest. The caller made room for it, and knows that its key is not there.
    pub(super) fn open(&mut self, span: Span) {
        let pid = span.activity.pid();
        // There are never more processes than spans, so there is room for this one, too.
        let owner = pid.and_then(|pid| {
            self.owner_id(pid)
                .or_else(|| self.owners.insert(hash_of_pid(pid), Owner { pid, count: 0, own: List::EMPTY }))
        });
        let owner = owner.unwrap_or(NONE);
        let node = Node { span, depth: 1, in_all: Links::NONE, in_own: Links::NONE, owner };
        let Some(id) = self.nodes.insert(span.activity.key().hash(span.gpu), node) else { return };
        if let Some(owner) = self.owners.value_mut(owner) {
            owner.count = owner.count.saturating_add(1);
        }
        self.append(id, owner);
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<Node> {
        let owner_id = self.node(id)?.owner;
        self.unlink(id, owner_id);
        if let Some(owner) = self.owners.value_mut(owner_id) {
            owner.count = owner.count.saturating_sub(1);
            if owner.count == 0 {
                self.owners.remove(owner_id);
            }
        }
        self.nodes.remove(id)
    }

    /// It was started again, so it is the newest now.
    pub(super) fn renew(&mut self, id: Id) {
        let Some(node) = self.node(id) else { return };
        let owner = node.owner;
        self.unlink(id, owner);
        self.append(id, owner);
    }

    fn append(&mut self, id: Id, owner: Id) {
        append(&mut self.nodes, &mut self.all, id, in_all);
        if let Some(owner) = self.owners.value_mut(owner) {
            append(&mut self.nodes, &mut owner.own, id, in_own);
        }
    }

    fn unlink(&mut self, id: Id, owner: Id) {
        unlink(&mut self.nodes, &mut self.all, id, in_all);
        if let Some(owner) = self.owners.value_mut(owner) {
            unlink(&mut self.nodes, &mut owner.own, id, in_own);
        }
    }
}

fn append<const K: usize>(nodes: &mut Map<Node, K>, list: &mut List, id: Id, which: Which) {
    if let Some(node) = nodes.value_mut(id) {
        *which(node) = Links { before: list.last, behind: NONE };
    }
    match nodes.value_mut(list.last) {
        Some(last) => which(last).behind = id,
        None => list.first = id,
    }
    list.last = id;
}

fn unlink<const K: usize>(nodes: &mut Map<Node, K>, list: &mut List, id: Id, which: Which) {
    let Some(node) = nodes.value_mut(id) else { return };
    let Links { before, behind } = *which(node);
    match nodes.value_mut(before) {
        Some(node) => which(node).behind = behind,
        None => list.first = behind,
    }
    match nodes.value_mut(behind) {
        Some(node) => which(node).before = before,
        None => list.last = before,
    }
}
