/** Gives a number from 0 to below its argument. */
export type Dice = (sides: number) => number;

/** Mulberry32: small, and the same everywhere. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** Takes one of the choices. */
export function oneOf<T>(choices: readonly T[], dice: Dice): T {
  const choice = choices[dice(choices.length)];
  if (choice === undefined) throw new Error("nothing to choose from");
  return choice;
}
