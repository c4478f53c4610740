/**
 * A place where what a server says can be read: by users, operators, models,
 * other programs.
 */
export interface Sink {
  readonly name: string;
  readonly text: string;
}

/** Secrets by what they are. */
export type Canaries = Readonly<Record<string, string>>;

/** Where a secret belongs, by what it is: the names of sinks. */
export type Allowed = Readonly<Record<string, readonly string[]>>;

/**
 * The secrets that stand where they do not belong, as they are or in an
 * encoding: `secret in sink`.
 */
export function leaksIn(
  sinks: readonly Sink[],
  canaries: Canaries,
  allowed: Allowed,
): string[] {
  const found = sinks.flatMap(({ name: sink, text }) =>
    Object.entries(canaries)
      .filter(([name]) => !allowed[name]?.includes(sink))
      .filter(([, canary]) =>
        formsOf(canary).some((form) => text.includes(form)),
      )
      .map(([name]) => `${name} in ${sink}`),
  );
  return [...new Set(found)].sort();
}

/**
 * A text in the encodings that it may be written in: also in the middle of
 * something that is in base64.
 */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((shift) => {
    const whole = bytes.subarray(
      shift,
      bytes.length - ((bytes.length - shift) % 3),
    );
    return whole.toString("base64");
  });
  return [
    text,
    ...base64,
    bytes.toString("hex"),
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
  ];
}
