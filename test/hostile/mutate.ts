/**
 * Picks a number from 0 up to a bound, the same ones in the same order for the
 * same seed.
 */
export type Random = (below: number) => number;

/** A generator of numbers that a seed decides. */
export function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const PIECES = [
  "null",
  "{}",
  "[]",
  '""',
  "1e999",
  "-1",
  "true",
  '"__proto__"',
  "[[[[[[]]]]]]",
  '{"toString":1}',
  "\\u0000",
  '"\ud800"',
  "99999999999999999999",
  '{"kind":"text"}',
  '{"@type":"x"}',
  '"/../"',
];

/**
 * A text of JSON, changed in one to three places: pieces put in, cut out, or in
 * place of whole values.
 */
export function mutateJson(seed: string, random: Random): string {
  let body = seed;
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(body.length);
    const piece = PIECES[random(PIECES.length)] ?? "";
    const cut = random(3) === 0 ? 0 : 1 + random(12);
    body =
      random(4) === 0
        ? replaceValue(body, piece, random)
        : body.slice(0, at) + (random(2) ? piece : "") + body.slice(at + cut);
  }
  return body;
}

/**
 * Puts a piece in place of a whole value, so that the body often stays JSON.
 */
function replaceValue(body: string, piece: string, random: Random): string {
  const values = [
    ...body.matchAll(/:("[^"]*"|\d+|null|true|false|\[[^[\]]*\])/g),
  ];
  const value = values[random(Math.max(values.length, 1))];
  return value
    ? `${body.slice(0, value.index + 1)}${piece}${body.slice(value.index + value[0].length)}`
    : body;
}

/**
 * Bytes, changed in one to four places: bits turned, bytes put in, cut out,
 * repeated, or all after one cut off.
 */
export function mutateBytes(
  seed: Uint8Array,
  random: Random,
): Uint8Array<ArrayBuffer> {
  let bytes = Uint8Array.from(seed);
  for (let changes = 1 + random(4); changes > 0; changes--) {
    bytes = changed(bytes, random);
  }
  return bytes;
}

function changed(
  bytes: Uint8Array<ArrayBuffer>,
  random: Random,
): Uint8Array<ArrayBuffer> {
  const at = random(bytes.length + 1);
  const length = 1 + random(8);
  switch (random(5)) {
    case 0:
      return bytes.map((byte, index) =>
        index === at ? byte ^ (1 << random(8)) : byte,
      );
    case 1:
      return joined(
        bytes.slice(0, at),
        Uint8Array.from({ length }, () => random(256)),
        bytes.slice(at),
      );
    case 2:
      return joined(bytes.slice(0, at), bytes.slice(at + length));
    case 3:
      return joined(
        bytes.slice(0, at),
        bytes.slice(at, at + length),
        bytes.slice(at),
      );
    default:
      return random(4) === 0
        ? bytes.slice(0, at)
        : bytes.map((byte, index) => (index === at ? 255 - byte : byte));
  }
}

/** Puts pieces behind one another. */
export function joined(
  ...pieces: readonly Uint8Array[]
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.concat(pieces));
}
