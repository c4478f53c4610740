import type { Tmux } from "./tmux.ts";

/** A step of a transcript. */
type Step =
  | { readonly case: "paste" | "type" | "press"; readonly text: string }
  /**
   * Waits until the screen has these lines, one below the other. A line `…`
   * stands for any number of lines.
   */
  | { readonly case: "shows"; readonly text: string };

/**
 * Plays a transcript in a terminal: what the user does, and what the screen
 * then shows.
 *
 * Each step begins with a line `=== paste`, `=== type`, `=== press` (keys as
 * tmux names them, one a line) or `=== shows`.
 *
 * @param replaced what stands for texts that differ from play to play, such as
 * `$WORK`
 */
export async function playTranscript(
  terminal: Tmux,
  transcript: string,
  replaced: Readonly<Record<string, string>>,
): Promise<void> {
  for (const { case: what, text } of readTranscript(transcript)) {
    if (what === "paste") {
      await terminal.paste(text);
    } else if (what === "type") {
      await terminal.type(text);
    } else if (what === "press") {
      await terminal.type("", ...text.split("\n"));
    } else {
      await terminal.shows(patternOf(text, replaced));
    }
  }
}

function readTranscript(transcript: string): Step[] {
  return readSections(transcript).map(({ head, text }) => {
    if (
      head === "paste" ||
      head === "type" ||
      head === "press" ||
      head === "shows"
    ) {
      return { case: head, text };
    }
    throw new Error(
      `"${head}" is not a step of a transcript: write paste, type, press or shows`,
    );
  });
}

/**
 * A section of a transcript: the line after `=== `, and what stands below it.
 */
export interface Section {
  readonly head: string;
  readonly text: string;
}

/**
 * Reads the sections of a transcript. What stands before the first one is for
 * the reader.
 */
export function readSections(transcript: string): Section[] {
  return transcript
    .split(/^=== /m)
    .slice(1)
    .map((section) => {
      const [, head = "", text = ""] =
        /^([^\n]*)\n([\s\S]*?)\n?$/.exec(section) ?? [];
      return { head, text };
    });
}

/**
 * Returns the pattern of lines that follow each other, where a line `…` stands
 * for any number of lines, and `…` in a line for the rest of it.
 */
export function patternOf(
  text: string,
  replaced: Readonly<Record<string, string>>,
): RegExp {
  const whole = Object.entries(replaced).reduce(
    (known, [name, value]) => known.replaceAll(name, () => value),
    text,
  );
  const lines = whole
    .split("\n")
    .map((line) =>
      line === "…"
        ? "[\\s\\S]*?"
        : `^${escapePattern(line).replaceAll("…", ".*")}$`,
    );
  return new RegExp(
    lines.join("\n").replaceAll("\n[\\s\\S]*?\n", "\n[\\s\\S]*?"),
    "m",
  );
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
