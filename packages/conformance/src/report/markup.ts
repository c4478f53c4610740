/**
 * A piece of HTML, created by `html`. All text in it is escaped.
 */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A value in an HTML template. Only markup is inserted unescaped.
 */
export type Content = string | number | Markup | readonly Markup[];

/**
 * Creates HTML from a template. Its values are escaped for elements and for
 * quoted attributes.
 */
export function html(
  template: TemplateStringsArray,
  ...contents: readonly Content[]
): Markup {
  const parts = template.map((part, index) => {
    const content = contents[index] ?? "";
    if (content instanceof Markup) return part + content.text;
    if (typeof content === "object") {
      return part + content.map(({ text }) => text).join("\n");
    }
    return part + escapeHtml(String(content));
  });
  return new Markup(parts.join(""));
}

/**
 * Escapes a text for HTML. Characters that would hide or reorder others are
 * shown as their code.
 */
function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
      char === "\n" || char === "\t"
        ? char
        : `\\u{${char.codePointAt(0)?.toString(16)}}`,
    )
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
