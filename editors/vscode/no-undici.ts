/**
 * Takes the place of `undici` in the bundle, half of which it was. The command
 * uses it to read the cards of A2A agents with a certificate of their own. This
 * extension meets such a certificate in the discovery file of a devtool server
 * alone, whose card it does not read.
 */
export class Agent {}

export function fetch(): never {
  throw new Error("this program reads no agent card with a pinned certificate");
}
