/**
 * A program under test that refuses all JSON and converses with nobody, so that it has cases of each outcome: it passes what must be
 * refused, fails the rest, and leaves out the conversations. It is JavaScript, without dependencies, to run before any build.
 */
const WORK = { readJson: 1, readBinary: 2 };
const OUTCOME = { refused: 4, unsupported: 5 };

let input = Buffer.alloc(0);
process.stdin.on("data", (chunk) => {
  input = Buffer.concat([input, chunk]);
  for (let end = frameEnd(); end !== undefined; end = frameEnd()) {
    const [body] = varintAt(end.start);
    const field = body >> 3;
    input = input.subarray(end.end);
    const isRead = field === WORK.readJson || field === WORK.readBinary;
    answer(
      isRead ? OUTCOME.refused : OUTCOME.unsupported,
      isRead ? "nothing is good enough" : `work ${field}`,
    );
  }
});

/** Where the next request starts and ends; undefined while it is not whole. */
function frameEnd() {
  const [length, start] = varintAt(0) ?? [];
  if (length === undefined || input.length < start + length) return undefined;
  return { start, end: start + length };
}

/** The varint at a place, and where it ends; undefined while it is not whole. */
function varintAt(place) {
  let value = 0;
  for (let at = place; at < input.length; at++) {
    value += (input[at] & 0x7f) * 2 ** (7 * (at - place));
    if (input[at] < 0x80) return [value, at + 1];
  }
  return undefined;
}

/** Writes a response with a text of less than 120 bytes. */
function answer(field, text) {
  const bytes = Buffer.from(text);
  process.stdout.write(
    Buffer.from([bytes.length + 2, (field << 3) | 2, bytes.length, ...bytes]),
  );
}
