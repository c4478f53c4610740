import type { PermissionOption } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { PermissionOptions } from "./permission-options.ts";

const option = (
  optionId: string,
  kind: PermissionOption["kind"],
  name = optionId,
): PermissionOption => ({
  optionId,
  kind,
  name,
});
const ONCE = option("yes", "allow_once", "Yes");
const NO = option("no", "reject_once", "No");
const CANCELLED = { outcome: "cancelled" };

/** The ids and names that a user sees. */
function shown(options: readonly PermissionOption[]): string[] {
  return new PermissionOptions(options)
    .shown("")
    .map(({ id, name }) => `${id} ${name}`);
}

/** The agent's id of the option that stands for one of ours. */
function chosen(options: readonly PermissionOption[], id: string): unknown {
  const outcome = new PermissionOptions(options).outcome(id);
  return outcome.outcome === "selected" ? outcome.optionId : outcome;
}

describe("the options of a permission request", () => {
  it("are known by their kinds, and answered with the agent's ids", () => {
    const options = [
      NO,
      option("approved-for-session", "allow_always", "Always"),
      ONCE,
    ];
    expect(shown(options)).toEqual([
      'proceed_once Allow once ("Yes")',
      'proceed_always Always allow ("Always")',
      'cancel Decline ("No")',
    ]);
    expect(
      ["proceed_once", "proceed_always", "cancel"].map((id) =>
        chosen(options, id),
      ),
    ).toEqual(["yes", "approved-for-session", "no"]);
  });

  it("of the same kind are told apart by the agent's ids", () => {
    const options = [
      ONCE,
      option("tool", "allow_always"),
      option("server", "allow_always"),
      NO,
    ];
    expect(shown(options)).toEqual([
      'proceed_once Allow once ("Yes")',
      'proceed_always Always allow ("tool")',
      'proceed_always:server Always allow ("server")',
      'cancel Decline ("No")',
    ]);
    expect(chosen(options, "proceed_always:server")).toBe("server");
  });

  it("that reject always are chosen only where there is no other that rejects", () => {
    const never = option("never", "reject_always", "Never");
    expect([
      chosen([never, ONCE, NO], "cancel"),
      chosen([never, ONCE], "cancel"),
    ]).toEqual(["no", "never"]);
    expect(shown([never, ONCE])).toEqual([
      'proceed_once Allow once ("Yes")',
      'cancel Always decline ("Never")',
    ]);
  });

  it("that only allow leave a way to decline: the request is cancelled", () => {
    expect(shown([ONCE])).toEqual([
      'proceed_once Allow once ("Yes")',
      "cancel Decline",
    ]);
    expect(chosen([ONCE], "cancel")).toEqual(CANCELLED);
    expect(new PermissionOptions([ONCE]).rejected).toEqual(CANCELLED);
  });

  it.each([
    "al\u200bways",
    "\uff41\uff4c\uff57\uff41\uff59\uff53",
    "Yes, permanently",
    "Similar commands",
  ])("V9: goes further than once where its words %j say so", (name) => {
    const options = [option("a", "allow_once", name), NO];
    expect(new PermissionOptions(options).allowed).toBeUndefined();
  });

  it("F20: may be none, which the answer that declines says", () => {
    expect(new PermissionOptions([]).shown("")).toMatchObject([
      { name: "Decline", description: "the agent offers no way to approve it" },
    ]);
    expect([shown([]), chosen([], "proceed_once")]).toEqual([
      ["cancel Decline"],
      CANCELLED,
    ]);
  });

  it("that are not offered this time decline", () => {
    expect(chosen([ONCE, NO], "proceed_always")).toBe("no");
    expect(chosen([ONCE], "proceed_always")).toEqual(CANCELLED);
  });

  it.each([
    option("proceed_without_sandbox", "allow_once", "Run it again"),
    option("proceedWithoutSandbox", "allow_once", "Run it again"),
    option("x", "allow_once", "Run outside of the sandbox"),
    option("unsandboxed", "allow_always", "Run"),
  ])(
    "never take one that leaves the sandbox for a plain one: $optionId, $name",
    (wide) => {
      const options = [wide, ONCE, NO];
      expect(shown(options)).toEqual([
        'proceed_once Allow once ("Yes")',
        `proceed_without_sandbox ${wide.kind === "allow_once" ? "Allow" : "Always allow"} without a sandbox ("${wide.name}")`,
        'cancel Decline ("No")',
      ]);
      expect(new PermissionOptions(options).allowed).toEqual({
        outcome: "selected",
        optionId: "yes",
      });
      expect(new PermissionOptions([wide, NO]).allowed).toBeUndefined();
      expect(chosen([wide, NO], "proceed_once")).toBe("no");
    },
  );

  it.each([
    option("approved_for_session", "allow_once", "Yes"),
    option("acceptAll", "allow_once", "Yes"),
    option("proceed_for_task", "allow_once", "Yes"),
    option("x", "allow_once", "Yes, and don't ask again"),
    option("x", "allow_once", "Yes, don’t ask again"),
    option("x", "allow_once", "Allow for this conversation"),
    option("x", "allow_once", "Allow, and stop asking"),
    option("x", "allow_once", "Yes, from now on"),
    option("x", "allow_always", "Yes"),
  ])(
    "never take one that allows more than this call for a plain one: $optionId, $name",
    (wide) => {
      const options = [wide, ONCE, NO];
      expect(shown(options)).toEqual([
        'proceed_once Allow once ("Yes")',
        `proceed_always Always allow ("${wide.name}")`,
        'cancel Decline ("No")',
      ]);
      expect(new PermissionOptions([wide, NO]).allowed).toBeUndefined();
      expect(chosen([wide, NO], "proceed_once")).toBe("no");
    },
  );

  it.each(["Allow once", "Allow", "Yes, run it", "Approve the call"])(
    "take a plain name for what it says: %s",
    (name) => {
      expect(shown([option("proceed_once", "allow_once", name), NO])).toEqual([
        `proceed_once Allow once${name === "Allow once" ? "" : ` ("${name}")`}`,
        'cancel Decline ("No")',
      ]);
    },
  );

  it("that repeat an id are one, and none if they differ in kind: nobody knows which an answer means", () => {
    expect(shown([ONCE, ONCE, NO])).toEqual([
      'proceed_once Allow once ("Yes")',
      'cancel Decline ("No")',
    ]);
    const twoFaced = [
      option("yes", "allow_once"),
      option("yes", "reject_once"),
    ];
    expect([shown(twoFaced), chosen(twoFaced, "cancel")]).toEqual([
      ["cancel Decline"],
      CANCELLED,
    ]);
    expect(
      chosen([...twoFaced, option("go", "allow_once"), NO], "proceed_once"),
    ).toBe("go");
  });

  it("that repeat an id but go differently far are none, and what is left out is known", () => {
    const wider = option("yes", "allow_once", "Yes, always");
    expect([
      shown([ONCE, wider, NO]),
      chosen([ONCE, wider, NO], "cancel"),
    ]).toEqual([['cancel Decline ("No")'], "no"]);
    const odd = [null, { ...NO, optionId: 5 }, { ...NO, optionId: "\ud800" }];
    expect(new PermissionOptions([ONCE, wider, NO, ONCE]).leftOut).toEqual([
      ONCE,
      wider,
      ONCE,
    ]);
    expect(new PermissionOptions([...odd, ONCE, NO, ONCE]).leftOut).toEqual(
      odd,
    );
    expect(new PermissionOptions({ 0: NO }).leftOut).toEqual([{ 0: NO }]);
  });

  it("without a name are named for what they do", () => {
    expect(
      shown([
        option("a", "allow_once", ""),
        option("b", "allow_always", " \n"),
        option("c", "reject_once", ""),
      ]),
    ).toEqual([
      "proceed_once Allow once",
      "proceed_always Always allow",
      "cancel Decline",
    ]);
  });

  it("show control characters and ones that change the direction of text as what they are", () => {
    expect(
      shown([
        option("a", "allow_once", "Yes\u202e\u0007\r\nNo"),
        option("b", "reject_once", "N\u200bo"),
      ]),
    ).toEqual([
      'proceed_once Allow once ("Yes\\u{202e}\\u{7}\\u{d} [1 more line]")',
      'cancel Decline ("N\\u{200b}o")',
    ]);
  });

  it("are at most twenty and one that declines, with short names", () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      option(`o${index}`, "allow_once", "x".repeat(10_000)),
    );
    const offered = new PermissionOptions([...many, NO]).shown("");
    expect([offered.length, offered.at(-1)?.id]).toEqual([21, "cancel"]);
    expect(
      Math.max(...offered.map(({ name }) => name.length)),
    ).toBeLessThanOrEqual(150);
    expect(chosen([...many, NO], "proceed_once:o999")).toBe("no");
  });

  it.each<readonly [readonly PermissionOption[], readonly string[]]>([
    [
      [
        option("a", "allow_once", "Decline"),
        option("b", "reject_once", "Allow once"),
      ],
      ['proceed_once Allow once ("Decline")', 'cancel Decline ("Allow once")'],
    ],
    [
      [ONCE, option("d", "allow_once", "Decline"), NO],
      [
        'proceed_once Allow once ("Yes")',
        'proceed_once:d Allow once ("Decline")',
        'cancel Decline ("No")',
      ],
    ],
    [
      [option("a", "allow_once", 'Yes") [n] Decline ("'), NO],
      [
        "proceed_once Allow once (\"Yes') [n] Decline ('\")",
        'cancel Decline ("No")',
      ],
    ],
    [
      [ONCE, option("yes2", "allow_once", " Yes"), NO],
      [
        'proceed_once Allow once ("Yes (yes)")',
        'proceed_once:yes2 Allow once ("Yes (yes2)")',
        'cancel Decline ("No")',
      ],
    ],
  ])(
    "S1: say what they do, whatever the agent calls them",
    (options, names) => {
      expect(shown(options)).toEqual(names);
    },
  );

  it("S1b: are shown as lasting where that is the only way, with what they cover", () => {
    const options = new PermissionOptions([
      option("a", "allow_always", "Allow once"),
      option("unsandboxed", "allow_always", "Run"),
      option("b", "reject_always", "Not now"),
    ]);
    const covered = "the agent decides which later calls it covers";
    expect(options.shown("later changes")).toMatchObject([
      {
        id: "proceed_always",
        name: 'Always allow ("Allow once")',
        description: `later changes; ${covered}`,
      },
      {
        id: "proceed_without_sandbox",
        name: 'Always allow without a sandbox ("Run")',
        description: covered,
      },
      {
        id: "cancel",
        name: 'Always decline ("Not now")',
        description: covered,
      },
    ]);
    expect(options.allowed).toBeUndefined();
  });

  it("say how far an answer goes", () => {
    const options = new PermissionOptions([
      ONCE,
      option("all", "allow_always"),
      NO,
    ]);
    const reach = ["proceed_once", "proceed_always", "cancel"].map((id) =>
      options.reachOf(options.outcome(id)),
    );
    expect([...reach, options.reachOf({ outcome: "cancelled" })]).toEqual([
      "once",
      "always",
      undefined,
      undefined,
    ]);
  });
});
