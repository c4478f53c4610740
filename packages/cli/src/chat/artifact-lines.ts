import type { PlanStep, TaskSnapshot } from "@devtool/client";
import { type Artifact, isAtRest } from "@devtool/schema";
import { indented, type LineStyle, visible } from "../render/style.ts";
import { partLines } from "../render/transcript.ts";
import { wrapLine } from "./entry.ts";

/** The lines of an artifact that are to be printed next. */
interface Next {
  readonly key: string;
  /** All of the artifact as text. */
  readonly text: string;
  /** The part of the text that was printed, and the part that is finished. */
  readonly from: number;
  readonly end: number;
  /** What the lines are; empty where they go on with the last ones. */
  readonly heading: string;
}

/**
 * Divides the artifacts of a growing task into lines that are finished, which
 * are printed once, and the others. One that is replaced is finished when the
 * turn has ended, since it may be replaced again.
 */
export class ArtifactLines {
  /** What was printed of each artifact, by its task and its id. */
  readonly #printed = new Map<string, string>();
  /** The artifact whose lines were printed last. */
  #last = "";

  /** Records that something else was printed. */
  interrupt(): void {
    this.#last = "";
  }

  /** Returns the lines to print now, each once. */
  advance(snapshot: TaskSnapshot, style: LineStyle): string[] {
    const isWhole = isAtRest(snapshot.task.state);
    return snapshot.task.artifacts.flatMap((artifact) => {
      const next = this.#nextOf(artifact, snapshot);
      const { key, text, from, end, heading } = next;
      const isNews = isWhole && text !== this.#printed.get(key);
      if (end <= from && !isNews) return [];
      this.#printed.set(key, text.slice(0, end));
      this.#last = key;
      return linesOf(heading, text.slice(from, end), style);
    });
  }

  /** Returns the lines that are not finished. */
  live(snapshot: TaskSnapshot, style: LineStyle): string[] {
    return snapshot.task.artifacts.flatMap((artifact) => {
      const { text, from, heading } = this.#nextOf(artifact, snapshot);
      return from < text.length
        ? linesOf(heading, text.slice(from), style)
        : [];
    });
  }

  #nextOf(artifact: Artifact, { task, plan }: TaskSnapshot): Next {
    const key = JSON.stringify([task.id, artifact.artifactId]);
    const steps = artifact.name === "Plan" ? plan : [];
    const text =
      steps.length > 0
        ? steps.map((step) => `${stepLine(step)}\n`).join("")
        : textOf(artifact);
    const before = this.#printed.get(key);
    const isReplaced = before !== undefined && !text.startsWith(before);
    const isHeld = isReplaced || steps.length > 0;
    const title = indented(artifact.name || artifact.artifactId);
    const again = isReplaced
      ? `· artifact ${title} replaced, it is now:`
      : `· artifact ${title} continued:`;
    return {
      key,
      text,
      from: isReplaced ? 0 : (before?.length ?? 0),
      end: isAtRest(task.state)
        ? text.length
        : isHeld
          ? 0
          : text.lastIndexOf("\n") + 1,
      heading:
        before === undefined
          ? `· artifact: ${title}`
          : this.#last === key && !isReplaced
            ? ""
            : again,
    };
  }
}

function stepLine({ text, status }: PlanStep): string {
  return `${status.replace("_", " ")}: ${text}`;
}

function linesOf(
  heading: string,
  text: string,
  { paint, columns }: LineStyle,
): string[] {
  const lines = text === "" ? [] : visible(text.replace(/\n$/, "")).split("\n");
  return [
    ...(heading === "" ? [] : wrapLine(paint("dim", heading), columns)),
    ...lines.flatMap((line) => wrapLine(`    ${line}`, columns)),
  ];
}

/** Returns an artifact as text: a text in pieces is one, others have lines. */
function textOf({ parts }: Artifact): string {
  let text = "";
  for (const part of parts) {
    if (part.content.case === "text") {
      text += part.content.value;
      continue;
    }
    const lines = partLines([part]);
    if (text !== "" && !text.endsWith("\n")) text += "\n";
    text += lines.map((line) => `${line}\n`).join("");
  }
  return text;
}
