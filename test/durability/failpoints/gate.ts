import {
  type Call,
  functionsOf,
  type NamedFunction,
  type SourceFile,
} from "./steps.ts";

/** Calls that look like a step and are none, by what is called. */
const NO_STEPS: readonly { readonly call: RegExp; readonly why: string }[] = [
  { call: /^(decoder|answer|parser)\.(write|end)$/, why: "it reads in memory" },
  {
    call: /^(encoder\.end|this\.#options\.write)$/,
    why: "it encodes in memory",
  },
  {
    call: /^this\.#calls\.end$/,
    why: "it collects in memory the calls of an answer",
  },
  { call: /^this\.#heartbeats\.remove$/, why: "a set in memory" },
  { call: /^watched\.remove$/, why: "a map in memory" },
  {
    call: /^(sse|command)\.(write|end)$/,
    why: "SseStream and GitCommand have failpoints of their own",
  },
  {
    call: /^this\.#process\?\.write$/,
    why: "ServerProcess has failpoints of its own",
  },
  {
    call: /^this\.#repository\.remove$/,
    why: "ShadowGit has failpoints of its own",
  },
  { call: /^log\.write$/, why: "a line of ServerLog, which is excused below" },
  {
    call: /^workspace\.writeFile$/,
    why: "Workspace has failpoints of its own",
  },
  {
    call: /^(invocation|loop|\(await make\(\)\))\.execute$|executor\.execute$/i,
    why: "it hands on: tools run in running-call.ts",
  },
];

/** Functions that a crash can cut anywhere, and why nothing is lost then. */
const EXCUSED: readonly {
  readonly path: RegExp;
  readonly name: RegExp;
  readonly why: string;
}[] = [
  {
    path: /coding-agent\/src\/tool\/descriptor\.ts$/,
    name: /^Descriptor\./,
    why: "calls of the system, for Workspace alone",
  },
  {
    path: /server\/src\/store\/layout\.ts$/,
    name: /^(migrate|tagRows|detachTexts|moveTitles)$/,
    why: "in the transaction between store.open and store.layout",
  },
  {
    path: /server\/src\/store\/sqlite-appends\.ts$/,
    name: /#rollBack$/,
    why: "what a crash does, too",
  },
  {
    path: /server\/src\/(store\/backup|handler\/backup-handler)\.ts$/,
    name: /^(writeBackup|restoreBackup|takeFiles|createBackupHandler)$/,
    why: "a part of a copy is removed by the next one, and a data directory is whole by one rename",
  },
  {
    path: /cli\/src\/metrics\/metrics-route\.ts$/,
    name: /^metricsRoute$/,
    why: "answers with numbers of this process, which end with it",
  },
  {
    path: /cli\/src\/mcp\/login-files\.ts$/,
    name: /^(lockFile|unlock)$/,
    why: "a lock that a crash leaves is taken over after a minute",
  },
  {
    path: /cli\/src\/log\/server-log\.ts$/,
    name: /^ServerLog/,
    why: "a line that a crash takes is lost: nothing depends on it",
  },
  {
    path: /server\/src\/telemetry\/span-observer\.ts$/,
    name: /^SpanRecorder\.#end$/,
    why: "a span that a crash takes is lost: nothing depends on it",
  },
  {
    path: /server\/src\/transport\/auth\/issuer-keys\.ts$/,
    name: /^discoverJwksUri$/,
    why: "reads public keys",
  },
  {
    path: /policy\/src\/approval-file\.ts$/,
    name: /^ApprovalFile\.setAside$/,
    why: "one rename of a file that cannot be used: the next start does it if this one did not",
  },
  {
    path: /coding-agent\/src\/agent\/remote\/fetch-answer\.ts$/,
    name: /^createFetchAnswer$/,
    why: "asks a model, which changes nothing: model.ask is around it",
  },
  {
    path: /mcp\/src\/bounded-fetch\.ts$/,
    name: /^boundedFetch$/,
    why: "the call of a tool: call.run is around it",
  },
  {
    path: /mcp\/src\/reading-fetch\.ts$/,
    name: /^readingFetch$/,
    why: "the call of a tool: call.run is around it",
  },
  {
    path: /mcp\/src\/mcp-supervisor\.ts$/,
    name: /^McpSupervisor\.ask$/,
    why: "calls a function that it was given",
  },
  {
    path: /mcp\/src\/mcp-connection\.ts$/,
    name: /#(askWithConsent|list)$/,
    why: "calls a function that it was given",
  },
  {
    path: /sandbox\/src\/git-identity\.ts$/,
    name: /^gitIdentity$/,
    why: "has git read its settings, which changes nothing",
  },
  {
    path: /sandbox\/src\/watched-places\.ts$/,
    name: /^renameAside$/,
    why: "a crash leaves what the command made: docs/sandbox.md says so",
  },
  {
    path: /sandbox\/src\/probe\.ts$/,
    name: /^attempt$/,
    why: "a directory to try a sandbox in",
  },
  {
    path: /sandbox\/src\/srt-sandbox\.ts$/,
    name: /^createSrtSandbox$/,
    why: "settings of a command that a crash ends, in a temporary directory",
  },
  {
    path: /internal\/src\/process-group\.ts$/,
    name: /^endTree$/,
    why: "ends processes of this one, which a crash ends, too",
  },
  {
    path: /internal\/src\/sync-directory\.ts$/,
    name: /^syncDirectory$/,
    why: "a step of its callers, which have failpoints around it",
  },
  {
    path: /sandbox\/src\/placeholder\.ts$/,
    name: /^make(File)?Placeholder$/,
    why: "makes what is empty",
  },
  {
    path: /sandbox\/src\/placeholder\.ts$/,
    name: /^(remove|giveUp)Placeholder$/,
    why: "removes what is empty, or leaves it to the next command",
  },
  {
    path: /sandbox\/src\/placeholders\.ts$/,
    name: /^restoreLink$/,
    why: "a crash leaves what the command made: docs/threat-model.md says so",
  },
  {
    path: /cli\/src\/command\/serve\.ts$/,
    name: /^dataPlace$/,
    why: "a directory that is thrown away",
  },
  {
    path: /server\/src\/transport\/http\/sse\.ts$/,
    name: /^SseStream\.beat$/,
    why: "sends a comment, which no client acts on",
  },
  {
    path: /coding-agent\/src\/tool\/checkpoint\/checkpoints\.ts$/,
    name: /^Checkpoints\.restore$/,
    why: "writes through Workspace",
  },
  {
    path: /server\/src\/transport\/http\/refusal\.ts$/,
    name: /^closeAfter$/,
    why: "refuses, and nothing was done",
  },
  {
    path: /cli\/src\/connection\/pinned-tls\.ts$/,
    name: /^pinnedFetch$/,
    why: "asks a running server who it is",
  },
  {
    path: /cli\/src\/io\.ts$/,
    name: /^writeLine$/,
    why: "a line for the operator",
  },
  {
    path: /mcp\/src\/(log-in|stored-login)\.ts$/,
    name: /^(Redirect\.constructor|LoginProvider\.saveTokens|renew|logOut|)$/,
    why: "a crash costs at most a login, and the error of the next call names the command that logs in",
  },
  {
    path: /cli\/src\/mcp\/login-files\.ts$/,
    name: /^loginStore$/,
    why: "removes the one file of a login: the next logout does it if this one did not",
  },
  {
    path: /mcp\/src\/server\/web-exchange\.ts$/,
    name: /^sendWebResponse$/,
    why: "tells what the log of the task has",
  },
  {
    path: /coding-agent\/src\/assembly\/ide-switch\.ts$/,
    name: /^IdeSwitch\.turn$/,
    why: "an empty file that is there or not: the next command does it if this one did not",
  },
  {
    path: /internal\/src\/failpoint\.ts$/,
    name: /^failpoint$/,
    why: "the failpoint itself",
  },
];

/** The findings of the gate in some files. */
export interface GateReport {
  /** The names of all failpoints, in the order of the files. */
  readonly failpoints: readonly string[];
  /** How many calls persist, emit or spawn something. */
  readonly steps: number;
  /**
   * Functions whose steps do not lie between two failpoints, and failpoints
   * whose name is wrong or used twice.
   */
  readonly breaches: readonly string[];
  /** Excuses that excuse nothing any more. */
  readonly unused: readonly string[];
}

/**
 * Checks that what files persist, emit and spawn lies between two failpoints of
 * the same function, or of its callers.
 */
export function checkFailpoints(files: readonly SourceFile[]): GateReport {
  const used = new Set<string>();
  const checked = files.map((file) => checkFile(file, used));
  const failpoints = checked.flatMap(({ functions }) =>
    functions.flatMap(({ calls }) => namesOf(calls, "failpoint")),
  );
  const excuses = [
    ...NO_STEPS.map(({ call }) => String(call)),
    ...EXCUSED.map(({ path, name }) => `${path} ${name}`),
  ];
  return {
    failpoints,
    steps: checked.reduce(
      (sum, { functions }) =>
        sum + functions.flatMap(({ calls }) => namesOf(calls, "step")).length,
      0,
    ),
    breaches: [
      ...checked.flatMap(({ breaches }) => breaches),
      ...failpoints.flatMap(nameBreach),
    ],
    unused: excuses.filter((excuse) => !used.has(excuse)),
  };
}

function nameBreach(
  name: string,
  index: number,
  all: readonly string[],
): string[] {
  if (!/^devtool:[a-z-]+\.[a-z-]+\.(before|after)$/.test(name)) {
    return [`${name || "a computed name"} is not a name of a failpoint`];
  }
  return all.indexOf(name) === index ? [] : [`${name} is in two places`];
}

function namesOf(calls: readonly Call[], kind: Call["case"]): string[] {
  return calls.filter((call) => call.case === kind).map(({ name }) => name);
}

interface CheckedFile {
  readonly functions: readonly NamedFunction[];
  readonly breaches: readonly string[];
}

function checkFile(file: SourceFile, used: Set<string>): CheckedFile {
  const functions = functionsOf(file).map((one) => ({
    ...one,
    calls: one.calls.filter((call) => !isNoStep(call, used)),
  }));
  const open = functions
    .filter(({ calls }) => !isBracketed(calls, new Set()))
    .filter((one) => !isExcused(file, one, used));
  const breaches = open.flatMap((one) =>
    isCoveredByCallers(one, functions)
      ? []
      : [
          `${file.path}: ${one.name || "the file"}: ${namesOf(one.calls, "step").join(", ")}`,
        ],
  );
  return { functions, breaches };
}

function isNoStep(call: Call, used: Set<string>): boolean {
  const excuse =
    call.case === "step" && NO_STEPS.find((one) => one.call.test(call.name));
  if (excuse) used.add(String(excuse.call));
  return Boolean(excuse);
}

function isExcused(
  { path }: SourceFile,
  { name }: NamedFunction,
  used: Set<string>,
): boolean {
  const excuse = EXCUSED.find(
    (one) => one.path.test(path) && one.name.test(name),
  );
  if (excuse) used.add(`${excuse.path} ${excuse.name}`);
  return excuse !== undefined;
}

/**
 * Whether a failpoint comes before the first step and another after the last;
 * calls of the functions named count as steps.
 */
function isBracketed(
  calls: readonly Call[],
  helpers: ReadonlySet<string>,
): boolean {
  const steps = calls.filter(
    (call) =>
      call.case === "step" || (call.case === "local" && helpers.has(call.name)),
  );
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) return true;
  const points = calls.filter((call) => call.case === "failpoint");
  return (
    points.some(({ start }) => start < first.start) &&
    points.some(({ start }) => start > last.start)
  );
}

/**
 * Whether a function is for its own file alone, and each function there that
 * calls it has failpoints around the call.
 */
function isCoveredByCallers(
  { name, isPrivate }: NamedFunction,
  functions: readonly NamedFunction[],
): boolean {
  if (!isPrivate) return false;
  const short = name.replace(/^.*\./, "");
  const helper = new Set([short, `this.${short}`]);
  const callers = functions.filter(({ calls }) =>
    calls.some((call) => call.case === "local" && helper.has(call.name)),
  );
  return (
    callers.length > 0 &&
    callers.every(({ calls }) => isBracketed(calls, helper))
  );
}
