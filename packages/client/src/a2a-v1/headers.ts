import { EXTENSION_URI } from "@devtool/schema";

/** What goes with each call in A2A 1.0: its version, and the extension that is activated (CARD-3). */
export const HEADERS_V1: Readonly<Record<string, string>> = {
  "a2a-version": "1.0",
  "a2a-extensions": EXTENSION_URI,
};
