/** What shows as nothing, as a plain space, or as something else than it is; a line break and a tab show what they are. */
const DECEIVING =
  /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}|(?![\n\t])\p{Cc}|\u034f|[\u115f\u1160\u3164\uffa0]|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** Writes text so that a person sees each of its characters: those that deceive, as `\u{202e}`. */
export function visibleText(text: string): string {
  return text.replace(DECEIVING, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/**
 * Says in a line what a command would do: in the model's words, or else by itself. A command with characters that
 * deceive is always shown, with those escaped.
 */
export function commandDescription(command: string, words: string): string {
  const visible = visibleText(command);
  return visible === command && words !== "" ? visibleText(words) : `Run ${visible}`;
}
