/** A piece of HTML, made by `html`: all text in it is escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template of HTML. Only markup is taken as it is. */
export type Content = string | number | Markup | readonly Markup[];

/** Makes HTML of a template. What stands in it is text, of which nothing becomes HTML, in elements and in quoted attributes alike. */
export function html(template: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const parts = template.map((part, index) => `${part}${contentText(contents[index] ?? "")}`);
  return new Markup(parts.join(""));
}

function contentText(content: Content): string {
  if (content instanceof Markup) return content.text;
  if (typeof content === "object") return content.map(({ text }) => text).join("\n");
  return escapeHtml(String(content));
}

/** What would hide or reorder characters is shown as its code. */
function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
      char === "\n" || char === "\t" ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`,
    )
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
