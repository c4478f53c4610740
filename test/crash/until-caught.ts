import { expect } from "vitest";

const MAX_ATTEMPTS = 8;

/**
 * Plays something until it counts a fault, and expects that it does within a few attempts. A kill has to hit a moment
 * that is a few milliseconds long, and a single attempt can miss it each time.
 */
export async function untilCaught(play: (attempt: number) => Promise<number>): Promise<void> {
  let caught = 0;
  for (let attempt = 0; caught === 0 && attempt < MAX_ATTEMPTS; attempt++) caught = await play(attempt);
  expect(caught).toBeGreaterThan(0);
}
