/**
 * The stages of a package: a folder, or a file beside the folders, may import
 * those to its right.
 */
export const STAGES: ReadonlyMap<string, readonly (readonly string[])[]> =
  new Map([
    [
      "server",
      [
        ["server"],
        ["assembly"],
        ["transport"],
        ["handler"],
        ["push", "discovery"],
        ["fleet"],
        ["keys"],
        ["task"],
        ["agent", "outbound"],
        ["store"],
        ["stream", "files"],
        ["operations", "telemetry"],
        ["errors", "observer"],
      ],
    ],
    [
      "coding-agent",
      [
        ["serve-coding-agent"],
        ["coding-agent"],
        ["assembly"],
        ["command"],
        ["agent"],
        ["delegate"],
        ["tool"],
        ["trust"],
        ["client-error"],
      ],
    ],
    [
      "workflow",
      [
        ["workflow-agent", "read-workflow", "dbos"],
        ["task-calls", "log-driver"],
        ["run-workflow", "outbox", "step-result", "kept-steps"],
        ["run-calls", "workflow-driver", "check-workflow"],
        ["template"],
      ],
    ],
    // One folder each.
    ["gemini", []],
    ["mcp", []],
    ["postgres", []],
    [
      "ide",
      [
        ["client", "stdio"],
        ["companion", "doctor"],
        ["transport"],
        ["client-session"],
        ["dialect", "discovery"],
        ["open-diffs"],
        ["editor", "ide-error", "limits"],
      ],
    ],
    // Both directions of a protocol, which know nothing of each other.
    ["acp", [["agent", "port", "profiles"]]],
    [
      "policy",
      [
        ["explain-decision"],
        ["rule-policy"],
        ["approval-rules", "grants", "saved-approvals", "shell-decision"],
        ["approval-file"],
        ["file-rules", "policy-file"],
        ["parse-policy-file"],
        ["compile-rule"],
        ["rule-order", "redirection-target", "repository-filters"],
        ["compiled-rule"],
        ["policy-subject"],
        ["policy-engine", "pattern", "guarded-paths", "approval-storage"],
        ["shell"],
        ["policy-error", "toml-problem"],
      ],
    ],
    [
      "sandbox",
      [
        ["find-sandbox"],
        ["probe"],
        ["start-process"],
        [
          "bwrap-sandbox",
          "srt-sandbox",
          "no-sandbox",
          "host-programs",
          "denial",
          "end-process",
        ],
        ["search-path", "placeholders", "spawn-command", "mount-check"],
        ["workspace-mounts"],
        ["git-repositories"],
        [
          "git-index",
          "system-mounts",
          "placeholder",
          "mount-table",
          "process-state",
          "extension",
        ],
        ["sandbox", "seccomp-filter", "regular-file"],
        ["sandbox-error"],
      ],
    ],
  ]);

/**
 * The folders of the server's transport: each dialect may import what is
 * shared, and no other dialect.
 */
export const TRANSPORTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["http", ["auth"]],
  ["auth", ["http"]],
  ["a2a", ["http"]],
  ["connect", ["http"]],
  ["a2a-v03", ["a2a", "http"]],
  ["a2a-v1", ["a2a", "http"]],
  ["gemini-cli", ["a2a", "http"]],
  ["ag-ui", ["http"]],
  ["ard", ["http"]],
]);

/**
 * The files of dialects, each by the name of its dialect. They are written as
 * those of others are: of the server they import the names of `DIALECT_ENTRIES`
 * and their own files. A form of A2A also imports what its versions share.
 */
export const DIALECT_FILE =
  /^packages\/server\/src\/transport\/(a2a|ag-ui|ard|connect|gemini-cli)\b/;

/** The entries `@devtool/server/dialect` and `/agent`. */
export const DIALECT_ENTRIES: ReadonlySet<string> = new Set([
  "server/src/dialect.ts",
  "server/src/seam.ts",
]);

/** What of `@devtool/internal` needs nothing of Node. */
const IN_BROWSERS =
  /^@devtool\/internal\/(abortable|call-chain-uri|cut-text|error-words|exact-json|json|long-ids|shell-line|shown-url|snake-case|title-text|trace-parent|unshown-arguments|visible-text)$/;

/** Which packages of ours and which others each package may import. */
export const PACKAGES: ReadonlyMap<string, readonly RegExp[]> = new Map([
  ["internal", [/^@bufbuild\/protobuf$/, /^node:/]],
  ["schema", [/^@bufbuild\/protobuf(\/|$)/, IN_BROWSERS]],
  [
    "client",
    [
      /^@devtool\/schema(\/|$)/,
      IN_BROWSERS,
      /^@bufbuild\/protobuf(\/|$)/,
      /^@connectrpc\/connect(\/|$)/,
      /^eventsource-parser/,
      /^jose$/,
      // Its types only: the application brings the AI SDK.
      /^ai$/,
    ],
  ],
  // Hooks render nothing of their own: neither the DOM nor a terminal.
  [
    "react",
    [
      /^@devtool\/(schema|client)$/,
      /^@bufbuild\/protobuf$/,
      /^@connectrpc\/connect$/,
      /^react$/,
    ],
  ],
  // The console is data for a server, which it does not know.
  ["console", [/^node:/]],
  ["conformance", [/^@devtool\/schema(\/|$)/, /^(?!@devtool\/(?!internal\/))/]],
  // What the server may not know are our other packages, above all agents; its
  // libraries are in its package.json.
  ["server", [/^@devtool\/schema(\/|$)/, /^(?!@devtool\/(?!internal\/))/]],
  // What plugs into the coding agent imports its seams, which have entries of
  // their own.
  [
    "mcp",
    [
      /^@devtool\/schema$/,
      /^@devtool\/server\/(agent|dialect)$/,
      /^@devtool\/coding-agent\/tool$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  ...["gemini", "openai", "anthropic"].map((name): [string, RegExp[]] => [
    name,
    [
      /^@devtool\/schema$/,
      /^@devtool\/server\/agent$/,
      /^@devtool\/coding-agent\/model$/,
      // Its fake of the API only, below `testing`.
      /^@devtool\/coding-agent\/testing\/fake-model$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ]),
  // Agents of others know the seam of the server; the port as an agent knows a
  // client, like any front.
  [
    "acp",
    [
      /^@devtool\/(schema|client)(\/|$)/,
      /^@devtool\/server\/agent$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  // For the owners of editors: none of ours but the limits of JSON.
  ["ide", [/^@devtool\/schema$/, /^(?!@devtool\/(?!internal\/))/]],
  // An agent that gives work to others, as the coding agent does.
  [
    "workflow",
    [
      /^@devtool\/(schema|client)$/,
      /^@devtool\/server\/agent$/,
      /^@devtool\/coding-agent\/delegate$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  // The extension, in editors/.
  [
    "vscode",
    [
      /^@devtool\/(schema|client|ide|cli\/connection)$/,
      /^@devtool\/internal\//,
      /^@(bufbuild\/protobuf|connectrpc\/connect)$/,
      /^vscode$/,
      /^node:/,
    ],
  ],
  // A store knows the server's seam for stores.
  [
    "postgres",
    [
      /^@devtool\/schema(\/|$)/,
      /^@devtool\/server\/store$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  // An agent, and a dialect.
  [
    "codex",
    [
      /^@devtool\/schema(\/|$)/,
      /^@devtool\/server\/(agent|dialect)$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  [
    "coding-agent",
    [
      /^@devtool\/(client|schema|policy|sandbox)(\/|$)/,
      /^@devtool\/server(\/agent)?$/,
      /^(?!@devtool\/(?!internal\/))/,
    ],
  ],
  // For the owners of other agents: none of ours but the messages that files of
  // rules are.
  ["policy", [/^@devtool\/schema$/, /^(?!@devtool\/(?!internal\/))/]],
  ["sandbox", [/^node:/, /^@devtool\/internal\//]],
]);

export const SEAMS: ReadonlySet<string> = new Set([
  "server/src/agent/agent.ts",
  "server/src/agent/agent-call.ts",
  "server/src/agent/agent-executor.ts",
  "server/src/agent/agent-workspace.ts",
  "server/src/agent/agent-offers.ts",
  "server/src/agent/goal-checks.ts",
  "server/src/agent/permission.ts",
  "server/src/observer.ts",
  "server/src/store/agent-sessions.ts",
  "server/src/store/approval-storage.ts",
  "server/src/store/untold-cancel-storage.ts",
  "server/src/store/key-storage.ts",
  "server/src/store/push-config-store.ts",
  "server/src/store/task-changes.ts",
  "server/src/store/task-inbox.ts",
  "server/src/store/task-lease.ts",
  "server/src/store/task-store.ts",
  "coding-agent/src/agent/model.ts",
  "coding-agent/src/command/slash-command.ts",
  "coding-agent/src/tool/mcp.ts",
  "coding-agent/src/tool/tool.ts",
  "policy/src/policy-engine.ts",
  "sandbox/src/sandbox.ts",
  "ide/src/editor.ts",
  "workflow/src/workflow-driver.ts",
]);

/**
 * The files that a seam may import beside other seams: plain data and errors.
 */
export const PLAIN: ReadonlySet<string> = new Set([
  "server/src/errors.ts",
  "server/src/agent/call-update.ts",
  "server/src/agent/confirmations.ts",
  "ide/src/gen/devtool/ide/v1alpha/context_pb.ts",
  "ide/src/gen/devtool/ide/v1alpha/diagnostics_pb.ts",
  "ide/src/gen/devtool/ide/v1alpha/diff_pb.ts",
]);

/**
 * The files that touch clock, random ids, environment and console, for all
 * others of their packages.
 */
export const ENTRIES: ReadonlySet<string> = new Set([
  "server/src/server.ts",
  "coding-agent/src/coding-agent.ts",
  "gemini/src/gemini-model.ts",
  "acp/src/agent/acp-session.ts",
  "acp/src/agent/terminals.ts",
  "ide/src/companion.ts",
  "acp/src/testing/fake-acp-agent.ts",
  "acp/src/testing/fake-words.ts",
  "acp/src/testing/index.ts",
  "postgres/src/postgres-leases.ts",
  "postgres/src/testing/postgres-server.ts",
]);

/**
 * The files that may use what only some systems have: each works without it
 * elsewhere, or is for Linux alone.
 */
export const SYSTEM_SEAMS: ReadonlySet<string> = new Set([
  "internal/src/directory-access.ts",
  "internal/src/process-group.ts",
  // A browser that outlives the command; the terminal's Ctrl-Z.
  "cli/src/open-in-browser.ts",
  "cli/src/terminal/terminal.ts",
  // Undefined elsewhere.
  "ide/src/doctor/ide-process.ts",
  "ide/src/transport/port-owner.ts",
  // bubblewrap, and what it shows a command.
  "coding-agent/src/tool/builtin/run-shell-command.ts",
  "sandbox/src/bwrap-sandbox.ts",
  "sandbox/src/denial.ts",
  "sandbox/src/end-process.ts",
  "sandbox/src/mount-table.ts",
  "sandbox/src/placeholder.ts",
  "sandbox/src/placeholders.ts",
  "sandbox/src/process-state.ts",
  "sandbox/src/workspace-mounts.ts",
]);

/** The heavy SDKs, each with a package that may import it. */
export const SDKS: readonly (readonly [name: string, sdk: RegExp])[] = [
  ["gemini", /^(@google\/|google-auth-library$)/],
  ["mcp", /^@modelcontextprotocol\/(client|server)/],
  ["ide", /^@modelcontextprotocol\//],
  ["ide", /^ws$/],
  ["acp", /^@agentclientprotocol\//],
  ["openai", /^openai(\/|$)/],
  ["anthropic", /^@anthropic-ai\//],
  ["postgres", /^pg(-|$)/],
  ["cli", /^@opentelemetry\/(?!api$)/],
];
