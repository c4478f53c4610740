import { Component, type ReactNode } from "react";

export interface PlainWhenBrokenProps {
  /** What is shown in place of the children, once they cannot be rendered. */
  readonly text: string;
  readonly children: ReactNode;
}

/**
 * Shows a text as it is where rendering it failed, so that no text of an agent
 * takes the page away with the questions on it.
 */
export class PlainWhenBroken extends Component<
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
