/** Elements whose content is not for reading. */
const UNREAD: ReadonlySet<string> = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "head",
  "iframe",
  "object",
]);
/** Elements that begin a line, and those that stand apart from what comes before. */
const LINES: ReadonlySet<string> = new Set([
  "br",
  "tr",
  "dt",
  "dd",
  "option",
  "li",
  "div",
  "section",
  "article",
  "header",
  "footer",
]);
const PARAGRAPHS: ReadonlySet<string> = new Set([
  "p",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "ul",
  "ol",
  "table",
  "pre",
  "blockquote",
  "hr",
]);
const HEADING = /^h([1-6])$/;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["copy", "©"],
  ["reg", "®"],
  ["hellip", "…"],
  ["mdash", "—"],
  ["ndash", "–"],
  ["lsquo", "‘"],
  ["rsquo", "’"],
  ["ldquo", "“"],
  ["rdquo", "”"],
  ["laquo", "«"],
  ["raquo", "»"],
  ["bull", "•"],
  ["middot", "·"],
  ["times", "×"],
  ["rarr", "→"],
  ["larr", "←"],
]);

/**
 * The readable text of an HTML page: its title, headings as `#`, list items as `-`, links with where they lead. Not a
 * parser of HTML: it goes over the page once, in time that grows with its length only, whatever the page holds.
 */
export function readableText(html: string, baseUrl: string): string {
  const writer = new TextWriter(baseUrl);
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    writer.text(html.slice(at, open < 0 ? html.length : open));
    if (open < 0) break;
    at = takeTag(html, open, writer);
  }
  const title = titleOf(html);
  return [title && `# ${title}\n`, writer.result()].filter(Boolean).join("\n");
}

/** Takes what begins with a `<`, and says where the text goes on. */
function takeTag(html: string, open: number, writer: TextWriter): number {
  if (html.startsWith("<!--", open)) return after(html, "-->", open + 4);
  const [, slash = "", name = ""] = /^<(\/?)([a-zA-Z][a-zA-Z0-9]{0,20})/.exec(html.slice(open, open + 24)) ?? [];
  if (name === "" && !/^<[/!?]/.test(html.slice(open, open + 2))) {
    writer.text("<");
    return open + 1;
  }
  const element = name.toLowerCase();
  const end = after(html, ">", open);
  if (slash === "" && UNREAD.has(element)) return afterElement(html, element, end);
  writer.tag(`${slash}${element}`, html.slice(open, end));
  return end;
}

/** The place after the end tag of an element; the end of the page when there is none. */
function afterElement(html: string, element: string, from: number): number {
  const ending = new RegExp(`</${element}`, "gi");
  ending.lastIndex = from;
  return ending.test(html) ? after(html, ">", ending.lastIndex) : html.length;
}

function after(html: string, text: string, from: number): number {
  const at = html.indexOf(text, from);
  return at < 0 ? html.length : at + text.length;
}

function titleOf(html: string): string {
  const [, title = ""] = /<title[^<>]{0,200}>([^<]{0,500})/i.exec(html.slice(0, 100_000)) ?? [];
  return collapsed(decoded(title)).trim();
}

/** Writes text with one blank between words and lines where blocks begin. */
class TextWriter {
  readonly #baseUrl: string;
  readonly #pieces: string[] = [];
  #link = "";
  #preformatted = 0;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  text(raw: string): void {
    if (raw === "") return;
    const text = decoded(raw);
    this.#pieces.push(this.#preformatted > 0 ? text : collapsed(text));
  }

  tag(name: string, source: string): void {
    const element = name.replace("/", "");
    if (element === "pre") this.#preformatted = Math.max(0, this.#preformatted + (name === "pre" ? 1 : -1));
    if (PARAGRAPHS.has(element)) this.#pieces.push("\n\n");
    else if (LINES.has(element)) this.#pieces.push("\n");
    else if (element === "td" || element === "th") this.#pieces.push(name === element ? "" : " | ");
    if (name === "li") this.#pieces.push("- ");
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) this.#pieces.push(`${"#".repeat(Number(level))} `);
    if (name === "a") this.#link = this.#target(source.slice(0, 4000));
    if (name === "/a" && this.#link !== "") this.#pieces.push(` (${this.#link})`);
    if (name === "/a") this.#link = "";
  }

  result(): string {
    const lines = this.#pieces
      .join("")
      .split("\n")
      .map((line) => line.trimEnd().replace(/^ (?! )/, ""));
    return lines
      .filter((line, index) => line !== "" || lines[index - 1] !== "")
      .join("\n")
      .trim();
  }

  /** Where a link leads; empty for one within the page or to nothing that can be fetched. */
  #target(source: string): string {
    const [, quoted, single, bare] = /\shref\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/i.exec(source) ?? [];
    const href = decoded(quoted ?? single ?? bare ?? "").trim();
    const url = href.startsWith("#") ? null : URL.parse(href, this.#baseUrl);
    return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : "";
  }
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, " ");
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (entity, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES.get(name) ?? entity;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : "";
  });
}
