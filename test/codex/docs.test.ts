import { readFile } from "node:fs/promises";
import {
  CALLED_METHODS,
  CARRIED_NOTIFICATIONS,
  CARRIED_REQUESTS,
  PROTOCOL_NAMES,
  type ProtocolNames,
} from "@devtool/codex/testing";
import { describe, expect, it } from "vitest";

/** The notifications that a turn handles itself. */
const OF_THE_TURN = ["turn/completed", "serverRequest/resolved"];

const page = await readFile(
  new URL("../../docs/codex.md", import.meta.url),
  "utf8",
);
const names: ProtocolNames = JSON.parse(await readFile(PROTOCOL_NAMES, "utf8"));
const {
  methods,
  clientNotifications,
  requests,
  notifications,
  items,
  variants,
} = names;

describe("the page on Codex", () => {
  it("says of each notification of the app-server that it is carried, or why not", () => {
    const carried = [...CARRIED_NOTIFICATIONS, ...OF_THE_TURN];
    const isCarried = (name: string): boolean => carried.includes(name);
    expect(carried.filter((name) => !notifications.includes(name))).toEqual([]);
    expect(missing("What is carried", notifications.filter(isCarried))).toEqual(
      [],
    );
    expect(
      missing(
        "What is not carried",
        notifications.filter((name: string) => !isCarried(name)),
      ),
    ).toEqual([]);
    expect(namesIn("What is not carried").filter(isCarried)).toEqual([]);
  });

  it("says of each request of the app-server that it is carried or refused", () => {
    const isCarried = (name: string): boolean =>
      CARRIED_REQUESTS.includes(name);
    expect(CARRIED_REQUESTS.filter((name) => !requests.includes(name))).toEqual(
      [],
    );
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

  it("says of each method of the app-server that it is called, or why not", () => {
    const called: readonly string[] = [...CALLED_METHODS, "initialized"];
    const all = [...methods, ...clientNotifications];
    expect(called.filter((name) => !all.includes(name))).toEqual([]);
    expect(namesIn("What is called")).toEqual(called);
    const families = namesIn("What is not called");
    const isOf = (name: string) => (family: string) =>
      family.endsWith("*")
        ? name.startsWith(family.slice(0, -1))
        : name === family;
    expect(
      all.filter(
        (name) => !called.includes(name) && !families.some(isOf(name)),
      ),
    ).toEqual([]);
    expect(
      families.filter((family) => !all.some((name) => isOf(name)(family))),
    ).toEqual([]);
    expect(families.filter((family) => called.includes(family))).toEqual([]);
  });

  it("says of each variant of what the bridge reads and writes what becomes of it", () => {
    const rows = section("Variants").split("\n");
    for (const [type, constants] of Object.entries(variants)) {
      const row = codeIn(
        rows.find((line) => line.startsWith(`| \`${type}\``)) ?? "",
      );
      expect([type, constants.filter((name) => !row.includes(name))]).toEqual([
        type,
        [],
      ]);
    }
  });
});

function missing(heading: string, names: readonly string[]): string[] {
  const said = namesIn(heading);
  return names.filter((name) => !said.includes(name));
}

/** The names in code style below a heading. */
function namesIn(heading: string): string[] {
  return codeIn(section(heading));
}

/** The text below a heading. */
function section(heading: string): string {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  return rest.split("\n## ")[0] ?? "";
}

function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
}
