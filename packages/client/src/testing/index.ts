// Exports of @devtool/client/testing: internals that tests outside this package
// need. Not published.
export { fetchKeySet, verifyCard } from "../card/verify-card.ts";
