/** An observer that keeps what a server does, and prints it as a tree. */
import type { Observer, Operation } from "@devtool/server";

interface Span extends Operation {
  readonly begunAt: number;
  text: string;
}

export class OperationTree {
  readonly #spans: Span[] = [];

  readonly observer: Observer = (operation) => {
    const span = { ...operation, begunAt: performance.now(), text: "open" };
    this.#spans.push(span);
    return ({ outcome, error }) => {
      const took = `${(performance.now() - span.begunAt).toFixed(1)} ms`;
      span.text = outcome === "succeeded" ? took : `${took}, ${outcome}`;
      if (error !== undefined) span.text += `: ${String(error)}`;
    };
  };

  /** Returns a line for each operation, indented below its parent. */
  lines(parentId = "", indent = ""): readonly string[] {
    return this.#spans
      .filter((span) => span.parentId === parentId)
      .flatMap(({ id, kind, name, text }) => [
        `${indent}${name === "" ? kind : `${kind} ${name}`} (${text})`,
        ...this.lines(id, `${indent}  `),
      ]);
  }
}
