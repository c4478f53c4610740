import { MAX_TITLE_LENGTH, titleLine } from "@devtool/internal/title-text";
import { visibleText } from "@devtool/internal/visible-text";
import { invalid } from "../errors.ts";

/**
 * The maximum length in characters of ids and names that clients choose. Each
 * event of a task repeats some of them.
 */
const MAX_NAME_LENGTH = 1024;

/** The maximum number of names in a list. */
const MAX_NAMES = 256;

/** The maximum length of the name of a client, in characters. */
const MAX_LABEL_LENGTH = 64;

/**
 * Throws `Code.InvalidArgument` for an id or a name that is too long, or has
 * characters that nobody sees: two of them would look alike.
 */
export function assertName(field: string, name: string): void {
  if (name.length > MAX_NAME_LENGTH) {
    throw invalid(
      field,
      name,
      `is too long: it has ${name.length} characters, limit is ${MAX_NAME_LENGTH}`,
    );
  }
  if (!isVisible(name)) throw notVisible(field, name);
}

/**
 * Throws `Code.InvalidArgument` for a list of ids or names that is too long, or
 * that contains one that is.
 */
export function assertNames(field: string, names: readonly string[]): void {
  if (names.length > MAX_NAMES) {
    throw invalid(
      field,
      String(names.length),
      `are too many: limit is ${MAX_NAMES}`,
    );
  }
  for (const name of names) assertName(field, name);
}

/**
 * Throws `Code.InvalidArgument` for a value of an enum that this server does
 * not know: that of a newer client may be stricter than all others.
 */
export function assertKnownValue(
  field: string,
  value: number,
  known: Readonly<Record<number, string>>,
): void {
  if (known[value] !== undefined) return;
  const names = Object.values(known).filter((name) => !/^\d/.test(name));
  const remedy = `choose ${names.join(", ")}`;
  throw invalid(field, String(value), "is not known here", remedy);
}

/**
 * Throws `Code.InvalidArgument` for a label that is too long, or that is not
 * one line of visible characters: people read it beside a decision.
 */
export function assertLabel(field: string, label: string): void {
  const { length } = [...label];
  if (length > MAX_LABEL_LENGTH) {
    throw invalid(
      field,
      label,
      `is too long: it has ${length} characters, limit is ${MAX_LABEL_LENGTH}`,
    );
  }
  if (!isVisible(label) || label.trim() !== label) {
    throw notVisible(field, label);
  }
}

/** Whether a text is one line of characters that can be seen. */
export function isVisible(text: string): boolean {
  return visibleText(text) === text && !/[\n\t]/.test(text);
}

function notVisible(field: string, text: string): Error {
  return invalid(
    field,
    text,
    "has characters that cannot be seen",
    "send visible characters on one line",
  );
}

/**
 * Returns a title that a client chose, on one line of visible characters.
 * Throws `Code.InvalidArgument` for a title that is too long, or that has no
 * visible character.
 */
export function readTitle(field: string, text: string): string {
  const title = titleLine(text);
  if (title === "") {
    throw invalid(
      field,
      text,
      "has no visible character",
      "send one line of text",
    );
  }
  const { length } = [...title];
  if (length <= MAX_TITLE_LENGTH) return title;
  throw invalid(
    field,
    title,
    `is too long: it has ${length} characters, limit is ${MAX_TITLE_LENGTH}`,
  );
}
