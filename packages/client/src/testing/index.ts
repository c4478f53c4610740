// What @devtool/client/testing exports, in this repository alone: what the tests of the whole need of the inside.
export { fetchKeySet, verifyCard } from "../card/verify-card.ts";
