class Markup {
  constructor(readonly text: string) {}
  toString() {
    return this.text;
  }
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function inner(child: unknown): string {
  if (Array.isArray(child)) return child.map(inner).join("");
  if (child instanceof Markup) return child.text;
  return child === undefined || child === null ? "" : escaped(String(child));
}

export function jsx(tag: string | ((props: object) => unknown), props: Record<string, unknown>): unknown {
  if (typeof tag === "function") return tag(props);
  const { children, ...others } = props;
  const attributes = Object.entries(others).filter(([, value]) => value !== undefined);
  const shown = attributes.map(([name, value]) => ` ${name}="${escaped(String(value))}"`).join("");
  return new Markup(`<${tag}${shown}>${inner(children)}</${tag}>`);
}

export const jsxs = jsx;
export const Fragment = ({ children }: { children?: unknown }) => new Markup(inner(children));
