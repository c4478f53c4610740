import { readFile } from "node:fs/promises";
import { CARRIED_NOTIFICATIONS, CARRIED_REQUESTS, PROTOCOL_NAMES } from "@devtool/codex/testing";
import { describe, expect, it } from "vitest";

/** The notifications that a turn handles itself. */
const OF_THE_TURN = ["turn/completed", "serverRequest/resolved"];

const page = await readFile(new URL("../docs/codex.md", import.meta.url), "utf8");
const { requests, notifications, items } = JSON.parse(await readFile(PROTOCOL_NAMES, "utf8"));

describe("the page on Codex", () => {
  it("says of each notification of the app-server that it is carried, or why not", () => {
    const carried = [...CARRIED_NOTIFICATIONS, ...OF_THE_TURN];
    const isCarried = (name: string): boolean => carried.includes(name);
    expect(carried.filter((name) => !notifications.includes(name))).toEqual([]);
    expect(missing("What is carried", notifications.filter(isCarried))).toEqual([]);
    expect(
      missing(
        "What is not carried",
        notifications.filter((name: string) => !isCarried(name)),
      ),
    ).toEqual([]);
    expect(namesIn("What is not carried").filter(isCarried)).toEqual([]);
  });

  it("says of each request of the app-server that it is carried or refused", () => {
    const isCarried = (name: string): boolean => CARRIED_REQUESTS.includes(name);
    expect(CARRIED_REQUESTS.filter((name) => !requests.includes(name))).toEqual([]);
    expect(missing("What is carried", requests.filter(isCarried))).toEqual([]);
    expect(
      missing(
        "What is refused",
        requests.filter((name: string) => !isCarried(name)),
      ),
    ).toEqual([]);
  });

  it("says of each type of item what becomes of it", () => {
    expect(missing("What is carried", items)).toEqual([]);
  });
});

function missing(heading: string, names: readonly string[]): string[] {
  const said = namesIn(heading);
  return names.filter((name) => !said.includes(name));
}

/** The names in code style below a heading. */
function namesIn(heading: string): string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [text = ""] = section.split("\n## ");
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
}
