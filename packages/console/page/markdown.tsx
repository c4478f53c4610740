import { decodeHTMLStrict } from "entities/decode";
import type { MarkedToken, Token, Tokens } from "marked";
import {
  createElement,
  Fragment,
  type ReactElement,
  type ReactNode,
} from "react";
import { ColouredCode } from "./coloured-code.tsx";
import { MAX_DEPTH, tooDeep } from "./read-markdown.ts";
import { Scrolling } from "./scrolling.tsx";

/**
 * What a link may lead to. Anything else, such as a script or a path, which
 * would lead into the console, is shown without a link.
 */
const LINK_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/**
 * Renders Markdown (GitHub's) as elements. HTML in it stays text, images are
 * named and not loaded, links lead out of the console, and headings are a level
 * below those of the page.
 *
 * Throws a `RangeError` for Markdown that is nested too deeply.
 */
export function renderMarkdown(tokens: readonly Token[]): ReactNode {
  return element(Fragment, tokens, 0);
}

/**
 * Creates an element with tokens in it. The tokens of a text never move, so
 * that they need no keys.
 */
function element(
  type: string | typeof Fragment,
  tokens: readonly Token[],
  depth: number,
  props = {},
): ReactElement {
  if (depth > MAX_DEPTH) throw tooDeep();
  return createElement(
    type,
    props,
    ...tokens.filter(isKnown).map((token) => renderToken(token, depth + 1)),
  );
}

/**
 * Whether a token is one of Markdown's own. All are, since no extension is
 * installed; their type has those of extensions, too.
 */
function isKnown(token: Token): token is MarkedToken {
  return token.type !== "";
}

function renderToken(token: MarkedToken, depth: number): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return element("p", token.tokens, depth);
    case "heading":
      return element(`h${Math.min(token.depth + 1, 6)}`, token.tokens, depth);
    case "blockquote":
    case "strong":
    case "em":
    case "del":
      return element(token.type, token.tokens, depth);
    case "list":
      return element(
        token.ordered ? "ol" : "ul",
        token.items,
        depth,
        token.ordered ? { start: token.start } : {},
      );
    case "list_item":
      return element("li", token.tokens, depth);
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
        <pre tabIndex={0}>
          <code>
            <ColouredCode
              text={token.text}
              language={(token.lang ?? "").split(/\s/, 1)[0] ?? ""}
            />
          </code>
        </pre>
      );
    case "codespan":
      return <code>{token.text}</code>;
    case "table":
      return renderTable(token, depth);
    case "link":
      return renderLink(token, depth);
    case "image":
      return (
        <span className="citation">
          {decodeHTMLStrict(token.text || token.href)}
        </span>
      );
    case "text":
      return token.tokens
        ? element(Fragment, token.tokens, depth)
        : decodeHTMLStrict(token.text);
    case "html":
      return token.block ? <p>{token.text}</p> : token.text;
    case "escape":
      return token.text;
    case "br":
    case "hr":
      return createElement(token.type);
    default:
      return token satisfies never;
  }
}

/** Renders a table, which scrolls by itself. */
function renderTable({ header, rows }: Tokens.Table, depth: number): ReactNode {
  const renderRow = (cells: readonly Tokens.TableCell[]): ReactElement => {
    const rendered = cells.map(({ tokens, header: isHeader, align }) =>
      element(
        isHeader ? "th" : "td",
        tokens,
        depth,
        align ? { style: { textAlign: align } } : {},
      ),
    );
    return createElement("tr", {}, ...rendered);
  };
  return (
    <Scrolling>
      <table>
        <thead>{renderRow(header)}</thead>
        {createElement("tbody", {}, ...rows.map(renderRow))}
      </table>
    </Scrolling>
  );
}

/** Renders a link, or its text alone if it may lead nowhere from here. */
function renderLink(
  { href, text, tokens, autolink = false }: Tokens.Link,
  depth: number,
): ReactNode {
  const address = autolink ? href : decodeHTMLStrict(href);
  const content = autolink ? text : element(Fragment, tokens, depth);
  const { protocol = "" } = URL.parse(address) ?? {};
  if (!LINK_PROTOCOLS.has(protocol)) return content;
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {content}
    </a>
  );
}
