import { Lexer } from "marked";
import { memo, type ReactNode } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { PlainWhenBroken } from "./plain-when-broken.tsx";
import { Scrolling } from "./scrolling.tsx";

/**
 * A text of the agent in Markdown, also while it is still written. HTML in it stays text, and images are named, not loaded.
 *
 * The text is rendered by blocks, so that only the last one is rendered again while it grows.
 */
export function Prose({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="prose">
      <PlainWhenBroken text={text}>
        <Blocks text={text} />
      </PlainWhenBroken>
    </div>
  );
}

function Blocks({ text }: { readonly text: string }): ReactNode {
  // Blocks only: what is in a line is parsed once, when its block is rendered.
  const blocks = new Lexer().blockTokens(text.replaceAll(/\r\n?/g, "\n")).map(({ raw }) => raw);
  const last = blocks.length - 1;
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows, so a block keeps its place
    <Block key={index} text={index === last ? remend(block) : block} />
  ));
}

const Block = memo(({ text }: { readonly text: string }): ReactNode => {
  if (text.length > MAX_BLOCK_LENGTH) return <p className="plain">{text}</p>;
  return (
    <Markdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {text}
    </Markdown>
  );
});
Block.displayName = "Block";

/** Maximum length of a block that is read as Markdown. A longer one would take seconds each time that it grows. */
const MAX_BLOCK_LENGTH = 20_000;

/** Maximum nesting of Markdown. Browsers lay out what is nested by recursion, and a tab ends when that goes too deep. */
const MAX_DEPTH = 64;

interface Node {
  readonly children?: readonly Node[];
}

/** Throws for Markdown that is nested too deeply. */
function assertShallow() {
  return (tree: Node): void => {
    let [level, depth]: [readonly Node[], number] = [[tree], 0];
    for (; level.length > 0; depth++) level = level.flatMap(({ children = [] }) => children);
    if (depth > MAX_DEPTH) throw new RangeError(`text is nested ${depth} levels deep: limit is ${MAX_DEPTH}`);
  };
}

const PLUGINS = [remarkGfm, assertShallow];

/** Links lead out of the console, and tables scroll by themselves. Headings stay below those of the page. */
const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  img: ({ alt, src }) => <span className="citation">{alt || String(src)}</span>,
  table: ({ children }) => (
    <Scrolling>
      <table>{children}</table>
    </Scrolling>
  ),
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  h1: ({ children }) => <h2>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  h5: ({ children }) => <h6>{children}</h6>,
};
