import { Component, memo, type ReactNode } from "react";
import remend from "remend";
import { renderMarkdown } from "./markdown.tsx";
import { readBlock, readBlocks } from "./read-markdown.ts";

/**
 * A text of the agent in Markdown, also while it is still written. HTML in it
 * stays text, and images are named, not loaded.
 *
 * The text is rendered by blocks, so that only the last one is rendered again
 * while it grows.
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
  const blocks = readBlocks(text);
  const last = blocks.length - 1;
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows, so a block keeps its place
    <Block key={index} text={index === last ? remend(block) : block} />
  ));
});
Blocks.displayName = "Blocks";

const Block = memo(({ text }: { readonly text: string }): ReactNode => {
  const tokens = readBlock(text);
  return tokens ? renderMarkdown(tokens) : <p className="plain">{text}</p>;
});
Block.displayName = "Block";

interface PlainWhenBrokenProps {
  /** What is shown in place of the children, once they cannot be rendered. */
  readonly text: string;
  readonly children: ReactNode;
}

/**
 * Shows a text as it is where rendering it failed, so that no text of an agent
 * takes the page away with the questions on it.
 */
class PlainWhenBroken extends Component<
  PlainWhenBrokenProps,
  { readonly isBroken: boolean }
> {
  override state: { readonly isBroken: boolean } = { isBroken: false };

  static getDerivedStateFromError(): { readonly isBroken: boolean } {
    return { isBroken: true };
  }

  override render(): ReactNode {
    const { text, children } = this.props;
    return this.state.isBroken ? <p className="plain">{text}</p> : children;
  }
}
