import { Lexer } from "marked";
import { memo, type ReactNode } from "react";
import remend from "remend";
import { renderMarkdown } from "./markdown.tsx";
import { PlainWhenBroken } from "./plain-when-broken.tsx";

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

const Blocks = memo(({ text }: { readonly text: string }): ReactNode => {
  // Blocks only: what is in a line is parsed once, when its block is rendered.
  const blocks = new Lexer().blockTokens(text.replaceAll(/\r\n?/g, "\n")).map(({ raw }) => raw);
  const last = blocks.length - 1;
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows, so a block keeps its place
    <Block key={index} text={index === last ? remend(block) : block} />
  ));
});
Blocks.displayName = "Blocks";

const Block = memo(({ text }: { readonly text: string }): ReactNode => {
  const isCostly = text.length > MAX_BLOCK_LENGTH || emphasisWork(text) > MAX_EMPHASIS_WORK;
  return isCostly ? <p className="plain">{text}</p> : renderMarkdown(text);
});
Block.displayName = "Block";

/** Maximum length of a block that is read as Markdown. A longer one would take seconds each time that it grows. */
const MAX_BLOCK_LENGTH = 20_000;

/** Maximum work for the emphasis of a block: 500 marks in one paragraph, or 50 marks in each of 100 list items. */
const MAX_EMPHASIS_WORK = 500 ** 2;

/**
 * Returns how much work the emphasis of a block can be: for each mark that opens one, marks that close one are looked for in the rest of
 * its paragraph or list item. An underscore within a word is not a mark.
 */
function emphasisWork(block: string): number {
  const parts = block.split(/\n(?= {0,3}[-*+] )|\n[ \t]*\n/);
  const marks = parts.map((part) => part.match(/\*+|(?<!\w)_+|_+(?!\w)/g)?.length ?? 0);
  return marks.reduce((work, count) => work + count ** 2, 0);
}
