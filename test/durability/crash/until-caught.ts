import { expect } from "vitest";

const MAX_ATTEMPTS = 30;

/**
 * Plays something until it counts a fault, and expects that it does within some
 * attempts. A kill has to hit a moment that is a few milliseconds long, which
 * most attempts may miss: small attempts end soon after the first hit.
 */
export async function untilCaught(
  play: (attempt: number) => Promise<number>,
): Promise<void> {
  let caught = 0;
  for (let attempt = 0; caught === 0 && attempt < MAX_ATTEMPTS; attempt++) {
    caught = await play(attempt);
  }
  expect(caught).toBeGreaterThan(0);
}
