import { resolve } from "node:path";
import { expect, it } from "vitest";
import { serverPath } from "./server-path.ts";

it("leaves absolute paths of each system as they are, and resolves relative ones here", () => {
  const absolute = ["/srv/app", "C:\\work", "c:/work", "\\\\host\\share\\x"];
  expect(absolute.map(serverPath)).toEqual(absolute);
  expect([".", "app"].map(serverPath)).toEqual([resolve("."), resolve("app")]);
});
