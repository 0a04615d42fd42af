//! A page as a tree, built by html5ever as browsers build it.

use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName, parse_document};
use std::borrow::Cow;
use std::cell::{Ref, RefCell};

/// The place of a node in its tree.
pub(super) type NodeId = usize;

/// The document itself.
const ROOT: NodeId = 0;

/// Elements without content (HTML, section 13.1.2).
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements whose text is not text of the page, and is written as it is.
const RAW: [&str; 4] = ["script", "style", "noscript", "template"];

/// The kind of a node.
enum Kind {
    Document,
    Element {
        name: QualName,
        attributes: Vec<(String, String)>,
    },
    Text(String),
    /// Comments and the like.
    Other,
}

struct Node {
    kind: Kind,
    parent: Option<NodeId>,
    children: Vec<NodeId>,
}

/// A page.
pub(super) struct Dom {
    nodes: Vec<Node>,
}

impl Dom {
    /// Parses a page. Any text is one.
    pub(super) fn parse(source: &str) -> Self {
        let builder = Builder(RefCell::new(Self { nodes: Vec::new() }));
        builder.add(Kind::Document);
        parse_document(builder, Default::default()).one(source)
    }

    /// All elements, in the order of the page.
    pub(super) fn elements(&self) -> Vec<NodeId> {
        let (mut found, mut left) = (Vec::new(), vec![ROOT]);
        while let Some(id) = left.pop() {
            if self.name(id).is_some() {
                found.push(id);
            }
            left.extend(self.nodes[id].children.iter().rev());
        }
        found
    }

    /// The name of an element, in lower case.
    pub(super) fn name(&self, id: NodeId) -> Option<&str> {
        match &self.nodes[id].kind {
            Kind::Element { name, .. } => Some(&*name.local),
            _ => None,
        }
    }

    /// The attributes of an element.
    pub(super) fn attributes(&self, id: NodeId) -> &[(String, String)] {
        match &self.nodes[id].kind {
            Kind::Element { attributes, .. } => attributes,
            _ => &[],
        }
    }

    pub(super) fn attribute(&self, id: NodeId, name: &str) -> Option<&str> {
        let mut all = self.attributes(id).iter();
        all.find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The element around an element.
    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id].parent.filter(|id| self.name(*id).is_some())
    }

    /// The elements that have the same parent, this one included.
    pub(super) fn siblings(&self, id: NodeId) -> Vec<NodeId> {
        let Some(parent) = self.nodes[id].parent else {
            return vec![id];
        };
        let children = self.nodes[parent].children.iter().copied();
        children.filter(|id| self.name(*id).is_some()).collect()
    }

    /// Reports whether nothing is in an element, not even white space.
    pub(super) fn is_empty(&self, id: NodeId) -> bool {
        let mut children = self.nodes[id].children.iter();
        children.all(|id| matches!(self.nodes[*id].kind, Kind::Other))
    }

    /// The text in an element, or in the whole page, with one space for each run of white space.
    pub(super) fn text(&self, id: Option<NodeId>) -> String {
        let mut whole = String::new();
        self.add_text(id.unwrap_or(ROOT), &mut whole);
        let words: Vec<&str> = whole.split_whitespace().collect();
        words.join(" ")
    }

    fn add_text(&self, id: NodeId, whole: &mut String) {
        for child in &self.nodes[id].children {
            match &self.nodes[*child].kind {
                Kind::Text(text) => whole.push_str(text),
                Kind::Element { name, .. } if RAW.contains(&&*name.local) => {}
                _ => self.add_text(*child, whole),
            }
        }
    }

    /// The HTML of what is in an element.
    pub(super) fn inner_html(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.add_html(id, &mut out);
        out
    }

    fn add_html(&self, id: NodeId, out: &mut String) {
        let is_raw = self.name(id).is_some_and(|name| RAW.contains(&name));
        for child in &self.nodes[id].children {
            match &self.nodes[*child].kind {
                Kind::Text(text) if is_raw => out.push_str(text),
                Kind::Text(text) => out.push_str(&escaped(text)),
                Kind::Element { name, attributes } => {
                    let name = &*name.local;
                    *out += &format!("<{name}");
                    for (key, value) in attributes {
                        *out += &format!(" {key}=\"{}\"", escaped(value).replace('"', "&quot;"));
                    }
                    out.push('>');
                    if !VOID.contains(&name) {
                        self.add_html(*child, out);
                        *out += &format!("</{name}>");
                    }
                }
                Kind::Document | Kind::Other => {}
            }
        }
    }

    fn detach(&mut self, id: NodeId) {
        if let Some(parent) = self.nodes[id].parent.take() {
            self.nodes[parent].children.retain(|child| *child != id);
        }
    }

    /// Puts a node among the children of another, at a place. Texts side by side become one.
    fn insert(&mut self, parent: NodeId, at: usize, child: NodeOrText<NodeId>) {
        let id = match child {
            NodeOrText::AppendNode(id) => id,
            NodeOrText::AppendText(text) => {
                let before = at.checked_sub(1).map(|at| self.nodes[parent].children[at]);
                if let Some(id) = before
                    && let Kind::Text(known) = &mut self.nodes[id].kind
                {
                    known.push_str(&text);
                    return;
                }
                self.add(Kind::Text(text.to_string()))
            }
        };
        self.nodes[id].parent = Some(parent);
        self.nodes[parent].children.insert(at, id);
    }

    fn add(&mut self, kind: Kind) -> NodeId {
        self.nodes.push(Node {
            kind,
            parent: None,
            children: Vec::new(),
        });
        self.nodes.len() - 1
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Takes what html5ever finds.
struct Builder(RefCell<Dom>);

impl Builder {
    fn add(&self, kind: Kind) -> NodeId {
        self.0.borrow_mut().add(kind)
    }
}

fn owned(attributes: Vec<Attribute>) -> Vec<(String, String)> {
    let pairs = attributes.into_iter();
    let pairs = pairs.map(|one| (one.name.local.to_string(), one.value.to_string()));
    pairs.collect()
}

impl TreeSink for Builder {
    type Output = Dom;
    type Handle = NodeId;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Dom {
        self.0.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn get_document(&self) -> NodeId {
        ROOT
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn elem_name<'a>(&'a self, target: &NodeId) -> Ref<'a, QualName> {
        Ref::map(self.0.borrow(), |dom| match &dom.nodes[*target].kind {
            Kind::Element { name, .. } => name,
            _ => unreachable!("html5ever asks for the names of elements only"),
        })
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        _: ElementFlags,
    ) -> NodeId {
        let attributes = owned(attributes);
        self.add(Kind::Element { name, attributes })
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.add(Kind::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.add(Kind::Other)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        let mut dom = self.0.borrow_mut();
        let at = dom.nodes[*parent].children.len();
        dom.insert(*parent, at, child);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        let mut dom = self.0.borrow_mut();
        if let NodeOrText::AppendNode(id) = &child {
            dom.detach(*id);
        }
        let Some(parent) = dom.nodes[*sibling].parent else {
            return;
        };
        let mut children = dom.nodes[parent].children.iter();
        let at = children.position(|id| id == sibling).unwrap_or(0);
        dom.insert(parent, at, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        before: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        let has_parent = self.0.borrow().nodes[*element].parent.is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(before, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        let mut dom = self.0.borrow_mut();
        if let Kind::Element {
            attributes: known, ..
        } = &mut dom.nodes[*target].kind
        {
            for (key, value) in owned(attributes) {
                if !known.iter().any(|(name, _)| *name == key) {
                    known.push((key, value));
                }
            }
        }
    }

    /// Returns the element itself: the content of a template is attached to it, where selectors find it.
    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        *target
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.0.borrow_mut().detach(*target);
    }

    fn reparent_children(&self, from: &NodeId, to: &NodeId) {
        let mut dom = self.0.borrow_mut();
        for id in std::mem::take(&mut dom.nodes[*from].children) {
            let at = dom.nodes[*to].children.len();
            dom.insert(*to, at, NodeOrText::AppendNode(id));
        }
    }

    fn mark_script_already_started(&self, _: &NodeId) {}
}
