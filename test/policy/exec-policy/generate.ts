import { diceOf } from "./dice.ts";
import { PlainLine } from "./plain-line.ts";
import { WildLine } from "./wild-line.ts";

/**
 * Makes command lines of bash, the same ones for the same seed: half of them
 * plain, half with all that bash has.
 */
export function generateCommands(count: number, seed: number): string[] {
  const dice = diceOf(seed);
  return Array.from({ length: count }, () =>
    (dice(2) === 0 ? new PlainLine(dice) : new WildLine(dice)).line(),
  );
}
