import { Parser } from "htmlparser2";

/** Elements whose content is not for reading. */
const UNREAD: ReadonlySet<string> = new Set("script style noscript template svg head iframe object".split(" "));
/** Elements that begin a line, those that also end one, and those that stand apart from what is around them. */
const ITEMS: ReadonlySet<string> = new Set("br tr dt dd option li".split(" "));
const BLOCKS: ReadonlySet<string> = new Set("div section article header footer".split(" "));
const PARAGRAPHS: ReadonlySet<string> = new Set("p h1 h2 h3 h4 h5 h6 ul ol table pre blockquote hr".split(" "));
const HEADING = /^h([1-6])$/;
const MAX_TITLE_LENGTH = 500;
/** More elements within each other than browsers take. */
const MAX_DEPTH = 1000;
const PIECE_LENGTH = 16_384;

/**
 * The readable text of an HTML page: its title, headings as `#`, list items as `-`, links with where they lead. Goes over the
 * page once, whatever it holds.
 */
export function readableText(html: string, baseUrl: string): string {
  const writer = new TextWriter(baseUrl);
  const parser = new Parser({
    onopentag: (name, attributes) => writer.open(name, attributes),
    ontext: (text) => writer.text(text),
    onclosetag: (name) => writer.close(name),
  });
  // The parser takes longer for each open element, so a page that nests without end is read up to there.
  for (let at = 0; at < html.length && writer.depth < MAX_DEPTH; at += PIECE_LENGTH)
    parser.write(html.slice(at, at + PIECE_LENGTH));
  parser.end();
  return writer.result();
}

/** Writes text with one blank between words and lines where blocks begin. */
class TextWriter {
  readonly #baseUrl: string;
  readonly #pieces: string[] = [];
  #depth = 0;
  #title = "";
  #link = "";
  #unread = 0;
  #preformatted = 0;
  #inTitle = false;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** How many elements are open. */
  get depth(): number {
    return this.#depth;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth++;
    if (UNREAD.has(name)) this.#unread++;
    if (name === "title") this.#inTitle = true;
    if (this.#unread > 0) return;
    if (name === "pre") this.#preformatted++;
    this.#separate(name);
    if (ITEMS.has(name)) this.#pieces.push("\n");
    if (name === "li") this.#pieces.push("- ");
    if (name === "a") this.#link = this.#target(attributes.href ?? "");
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) this.#pieces.push(`${"#".repeat(Number(level))} `);
  }

  text(text: string): void {
    if (this.#inTitle) this.#title = (this.#title + text).slice(0, MAX_TITLE_LENGTH);
    if (this.#unread === 0) this.#pieces.push(this.#preformatted > 0 ? text : collapsed(text));
  }

  close(name: string): void {
    this.#depth--;
    if (name === "title") this.#inTitle = false;
    if (UNREAD.has(name)) this.#unread--;
    if (this.#unread > 0) return;
    if (name === "pre") this.#preformatted--;
    this.#separate(name);
    if (name === "td" || name === "th") this.#pieces.push(" | ");
    if (name === "a" && this.#link !== "") this.#pieces.push(` (${this.#link})`);
    if (name === "a") this.#link = "";
  }

  result(): string {
    const lines = this.#pieces
      .join("")
      .split("\n")
      .map((line) => line.trimEnd().replace(/^ (?! )/, ""));
    const text = lines.filter((line, index) => line !== "" || lines[index - 1] !== "").join("\n");
    const title = collapsed(this.#title).trim();
    return [title && `# ${title}\n`, text.trim()].filter(Boolean).join("\n");
  }

  #separate(name: string): void {
    if (PARAGRAPHS.has(name)) this.#pieces.push("\n\n");
    else if (BLOCKS.has(name)) this.#pieces.push("\n");
  }

  /** Where a link leads; empty for one within the page or to nothing that can be fetched. */
  #target(href: string): string {
    const url = href.startsWith("#") ? null : URL.parse(href, this.#baseUrl);
    return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : "";
  }
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, " ");
}
