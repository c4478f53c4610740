/** A flag of sed that has no script and names no other file. */
const FLAG =
  /^-(?:[nErsuz]+|[nErsuz]*i[\w.~]*|-(?:quiet|silent|regexp-extended|null-data|separate|in-place))$/;
/** A flag with a script, in the same word or in the next one. */
const SCRIPT_FLAG = /^(?:-[nErsuz]*e|--expression=)(?<script>.*)$/s;

const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*)`;
const ADDRESSES = String.raw`(?:${ADDRESS}(?:,(?:${ADDRESS}|[+~]\d+))?[ \t]*(?:![ \t]*)?)?`;
/** `s` and `y`: with a word character as delimiter they are hard to read. */
const REPLACING = String.raw`[sy](?<by>[^\w\s\\;{}])(?:(?:(?!\k<by>)[^\\\n]|\\.)*\k<by>){2}[gpiImM\d]*`;
const COMMAND = String.raw`(?:[=dDgGhHnNpPxzF]|[qQ]\d*|:\w+|[btT](?:[ \t]*\w+)?|${REPLACING})`;
/** Commands none of which runs a program or opens a file. */
const HARMLESS = new RegExp(
  String.raw`^(?:[\s;}]*${ADDRESSES}(?:\{|${COMMAND}[ \t]*(?:[;}\n]|$)))*[\s;}]*$`,
);

/**
 * Returns whether the words behind sed neither run a program nor open a file
 * that they do not name as a whole (`1e rm`, `sa.arma e`, `w x`). A script that
 * is not fully understood counts as one that may.
 */
export function isHarmlessSed(args: readonly string[]): boolean {
  const scripts: string[] = [];
  const names: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    const script = SCRIPT_FLAG.exec(word)?.groups?.script;
    if (script !== undefined) {
      scripts.push(script || (args[++at] ?? ""));
    } else if (!word.startsWith("-") || word === "-") {
      names.push(word);
    } else if (!FLAG.test(word)) {
      return false;
    }
  }
  const [first = ""] = names;
  return (scripts.length > 0 ? scripts : [first]).every((script) =>
    HARMLESS.test(script),
  );
}
