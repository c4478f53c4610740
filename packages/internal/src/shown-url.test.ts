import { expect, it } from "vitest";
import { holdsUser, shownUrl } from "./shown-url.ts";

it.each([
  ["https://agents.example", "https://agents.example"],
  ["/agents/painter", "/agents/painter"],
  ["agents.example:80", "agents.example:80"],
  ["https://me:secret@agents.example/a", "https://agents.example/a"],
  ["https://secret@agents.example", "https://agents.example/"],
  ["https:me:secret@agents.example", "https://agents.example/"],
  ["https://agents.example/a?key=secret#secret", "https://agents.example/a"],
  ["postgres://me:secret@db/x", "postgres://me@db/x"],
  ["https://me:sec/ret@agents.example", "https://…"],
  ["https://me:1/secret@agents.example", "https://…"],
  ["https://me:secret", "https://…"],
  ["me:secret@agents.example", "…"],
  ["/agents?key=secret", "…"],
])("a message shows the URL %s as %s", (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});

it.each([
  ["https://me:secret@agents.example", true],
  ["https://secret@agents.example", true],
  ["https://agents.example/@me", false],
  ["agents.example", false],
])("whether the URL %s holds a user name or a password: %s", (url, holds) => {
  expect(holdsUser(url)).toBe(holds);
});
