//! A flame graph as one SVG: each box is a function, its width the share of samples in which it was on the stack, and
//! what it called stands above it. A click on a box makes it as wide as the picture; one on the lowest shows all again.
//! The crate `inferno` draws such graphs too, under a licence (CDDL-1.0) that `deny.toml` does not have.

use super::Stacks;
use sampan_testkit::project::escaped_xml;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
/// Above the boxes, for the title, and below them, for what the pointer is on.
const HEAD: f64 = 44.0;
const FOOT: f64 = 30.0;
/// Boxes that are less wide are left out.
const WIDTH_MIN: f64 = 0.3;
/// The approximate width of a letter.
const LETTER: f64 = 7.3;

/// A function below its callers.
#[derive(Default)]
struct Call {
    samples: u64,
    /// By name, so that the same samples give the same picture.
    calls: BTreeMap<String, Call>,
}

impl Call {
    fn depth(&self) -> usize {
        let deepest = self.calls.values().map(Self::depth).max();
        deepest.map_or(0, |deepest| deepest + 1)
    }
}

/// The picture of stacks.
pub(super) fn flame_graph(title: &str, stacks: &Stacks) -> String {
    let mut root = Call::default();
    for (stack, count) in stacks {
        root.samples += count;
        let mut call = &mut root;
        for name in stack {
            call = call.calls.entry(name.clone()).or_default();
            call.samples += count;
        }
    }
    let height = HEAD + ROW * (root.depth() + 1) as f64 + FOOT;
    let (middle, foot) = (WIDTH / 2.0, height - 10.0);
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12">
<style>.c {{ cursor: pointer }} .c:hover rect {{ stroke: #333 }} .c text {{ pointer-events: none }} .found rect {{ fill: #c9a0f0 }} input {{ font: inherit; width: 100%; box-sizing: border-box }}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{middle}" y="26" text-anchor="middle" font-size="16">{}</text>
<text id="on" x="4" y="{foot}" fill="#444">Click on a box to zoom, on the lowest to see all.</text>
<text id="share" x="{}" y="{foot}" text-anchor="end" fill="#444"></text>
<foreignObject x="{}" y="8" width="216" height="30"><input xmlns="http://www.w3.org/1999/xhtml" id="search" placeholder="Search"/></foreignObject>"##,
        escaped_xml(title),
        WIDTH - 4.0,
        WIDTH - 220.0,
    );
    let mut drawing = Drawing {
        svg,
        all: root.samples.max(1),
        base: height - FOOT,
    };
    drawing.call("all", &root, 0.0, 0);
    let mut svg = drawing.svg;
    svg.push_str(SCRIPT);
    svg.push_str("</svg>\n");
    svg
}

struct Drawing {
    svg: String,
    all: u64,
    /// The lower end of the lowest row.
    base: f64,
}

impl Drawing {
    fn call(&mut self, name: &str, call: &Call, x: f64, depth: usize) {
        let width = WIDTH * call.samples as f64 / self.all as f64;
        if width < WIDTH_MIN {
            return;
        }
        let y = self.base - ROW * (depth + 1) as f64;
        let percent = 100.0 * call.samples as f64 / self.all as f64;
        let shown = escaped_xml(name);
        let (samples, height, colour) = (call.samples, ROW - 1.0, colour(name));
        let (text_x, text_y, text) = (x + 3.0, y + 13.0, escaped_xml(&cut(name, width)));
        let _ = writeln!(
            self.svg,
            r#"<g class="c" data-n="{shown}" data-x="{x:.2}" data-w="{width:.2}" data-d="{depth}"><title>{shown}: {percent:.1} % ({samples} samples)</title><rect x="{x:.2}" y="{y:.0}" width="{width:.2}" height="{height}" fill="{colour}" stroke="white" stroke-width="0.5"/><text x="{text_x:.2}" y="{text_y:.0}">{text}</text></g>"#,
        );
        let mut x = x;
        for (name, inner) in &call.calls {
            self.call(name, inner, x, depth + 1);
            x += WIDTH * inner.samples as f64 / self.all as f64;
        }
    }
}

/// Returns as much of a name as fits.
fn cut(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.chars().count() {
        count if count <= letters => name.to_owned(),
        _ if letters < 3 => String::new(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

/// A warm colour for functions of scripts and a cool one for others, always the same for a name.
fn colour(name: &str) -> String {
    // FNV-1a: any spread will do.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let from = if name.starts_with('[') { 190 } else { 15 };
    let (hue, light) = (from + hash % 35, 68 + (hash >> 8) % 12);
    format!("hsl({hue}, 75%, {light}%)")
}

/// The reactions to clicks, the pointer and the search box.
const SCRIPT: &str = "<script><![CDATA[
const calls = [...document.querySelectorAll('g.c')];
const boxes = calls.map(g => ({ g, name: g.dataset.n, x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d,
  rect: g.querySelector('rect'), text: g.querySelector('text'), title: g.querySelector('title').textContent }));
const all = boxes[0].w, [on, share, search] = ['on', 'share', 'search'].map(id => document.getElementById(id));
const hint = on.textContent;
function zoom({ x, w, d }) {
  for (const box of boxes) {
    const is_below = box.d < d && box.x <= x + 0.02 && box.x + box.w >= x + w - 0.02;
    const is_above = box.d >= d && box.x >= x - 0.02 && box.x + box.w <= x + w + 0.02;
    box.g.style.display = is_below || is_above ? '' : 'none';
    const left = is_below ? 0 : (box.x - x) * all / w, width = is_below ? all : box.w * all / w;
    box.rect.setAttribute('x', left);
    box.rect.setAttribute('width', width);
    box.text.setAttribute('x', left + 3);
    const letters = Math.max(0, Math.floor((width - 6) / 7.3));
    box.text.textContent = box.name.length <= letters ? box.name : letters < 3 ? '' : box.name.slice(0, letters - 1) \
     + '…';
  }
}
function find() {
  const word = search.value.toLowerCase();
  let end = 0, found = 0;
  for (const box of boxes) {
    const is_found = word !== '' && box.name.toLowerCase().includes(word);
    box.g.classList.toggle('found', is_found);
    // Callers stand before what they call, and from left to right: nothing counts twice.
    if (is_found && box.x >= end - 0.02) [found, end] = [found + box.w, box.x + box.w];
  }
  share.textContent = word === '' ? '' : 'found: ' + (100 * found / all).toFixed(1) + ' %';
}
for (const box of boxes) {
  box.g.onclick = () => zoom(box);
  box.g.onmouseenter = () => on.textContent = box.title;
  box.g.onmouseleave = () => on.textContent = hint;
}
search.oninput = find;
]]></script>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_wide_as_its_share() {
        let stack = |calls: &[&str]| calls.iter().map(|call| (*call).to_owned()).collect();
        let stacks = BTreeMap::from([
            (stack(&["a", "b"]), 30),
            (stack(&["a", "<c>\"&"]), 10),
            (stack(&["d"]), 60),
        ]);
        let svg = flame_graph("GET /<i>", &stacks);
        for part in [
            "GET /&lt;i&gt;",
            "<title>all: 100.0 % (100 samples)</title>",
            "<title>a: 40.0 % (40 samples)</title>",
            "<title>d: 60.0 % (60 samples)</title>",
            "&lt;c&gt;&quot;&amp;: 10.0 %",
            "data-x=\"0.00\" data-w=\"480.00\" data-d=\"1\"",
            "data-x=\"480.00\" data-w=\"720.00\" data-d=\"1\"",
        ] {
            assert!(svg.contains(part), "{part} in\n{svg}");
        }
        assert!(!svg.contains("<c>"));
        assert_eq!(flame_graph("GET /<i>", &stacks), svg, "the same samples");
    }

    #[test]
    fn a_name_is_cut_to_its_box() {
        assert_eq!(cut("handler app.lua:3", 1200.0), "handler app.lua:3");
        assert_eq!(cut("handler app.lua:3", 60.0), "handle…");
        assert_eq!(cut("handler app.lua:3", 20.0), "");
    }
}
