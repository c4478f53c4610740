import { parseAst } from "rolldown/parseAst";

/** A file of code, by its path from the root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/**
 * A call in a function: one that persists, emits or spawns, one of `failpoint`,
 * or one of a function in the same file.
 */
export interface Call {
  readonly case: "step" | "failpoint" | "local";
  /**
   * The called expression as written, such as `rename` or `this.#write`; the
   * name for a failpoint.
   */
  readonly name: string;
  readonly start: number;
}

/**
 * A function with a name, and the calls in it and in the functions without
 * names that it holds.
 */
export interface NamedFunction {
  /**
   * Its name, behind that of its class: `SqliteTaskStore.#commit`. Empty for
   * the top of the file.
   */
  readonly name: string;
  readonly calls: readonly Call[];
  /** Whether only its own file can call it. */
  readonly isPrivate: boolean;
}

/**
 * Functions of Node's modules, and of undici, that change a file, start a
 * process or send a request.
 */
const FUNCTIONS =
  /^((appendFile|f?chmod|f?chown|copyFile|cp|createWriteStream|f(data)?sync|f?truncate|link|mkdir|mkdtemp|rename|rm|rmdir|symlink|unlink|utimes|writev?|writeFile|spawn|fork|exec|execFile)(Sync)?|fetch|request)$/;
const OPEN = /^open(Sync)?$/;
const OPENS_TO_WRITE = /O_(CREAT|WRONLY|RDWR)|"(r\+|[aw]x?\+?)"/;

/**
 * Methods that change a file, send something to a process, a thread or a
 * client, or have something done by a tool.
 */
const METHODS =
  /^(write|end|writeFile|writeAll|appendFile|sync|datasync|chmod|setMode|createFile|makeDirectory|rename|remove|postMessage|publish|onAppended|post|execute)$/;
const DATABASE = /database|statements|prepare\(|\b(write|insert|update)\.$/i;

/**
 * Finds what a file persists, emits and spawns, function by function. What it
 * does when something failed does not count.
 */
export function functionsOf({ path, text }: SourceFile): NamedFunction[] {
  const functions = new Map<string, { calls: Call[]; isPrivate: boolean }>();
  const visit = (node: Node, scope: Scope): void => {
    if (node.type === "CatchClause") return;
    const inner = scopeOf(node, scope, text);
    const calls: Call[] = functions.get(inner.name)?.calls ?? [];
    functions.set(inner.name, { calls, isPrivate: inner.isPrivate });
    const call = callOf(node, text);
    if (call) calls.push(call);
    for (const child of childrenOf(node)) visit(child, inner);
  };
  const program: unknown = parseAst(text, { lang: "ts" }, path);
  if (isNode(program)) visit(program, { name: "", isPrivate: false });
  return [...functions].map(([name, found]) => ({ name, ...found }));
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Scope {
  readonly name: string;
  readonly isPrivate: boolean;
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    "start" in value &&
    "end" in value
  );
}

function childrenOf(node: Node): Node[] {
  const fields = Object.entries(node).map(([key, value]) =>
    node.type === "ExportNamedDeclaration" &&
    key === "declaration" &&
    isNode(value)
      ? { ...value, exported: true }
      : value,
  );
  return fields.flat().filter(isNode);
}

/** The function that a node begins, or the one around it. */
function scopeOf(node: Node, scope: Scope, text: string): Scope {
  const isMethod = node.type === "MethodDefinition";
  const isNamed =
    node.type === "FunctionDeclaration" || node.type === "ClassDeclaration";
  const key = isMethod ? node.key : isNamed ? node.id : undefined;
  if (!isNode(key)) return scope;
  const name = text.slice(key.start, key.end);
  const isPrivate = isMethod
    ? name.startsWith("#")
    : node.type === "FunctionDeclaration" && node.exported !== true;
  return {
    name: scope.name === "" ? name : `${scope.name}.${name}`,
    isPrivate,
  };
}

function callOf(node: Node, text: string): Call | undefined {
  const { start } = node;
  if (node.type === "YieldExpression") {
    const isEvent = /^\{ event: /.test(
      text.slice(start + "yield ".length, node.end),
    );
    return isEvent ? { case: "step", name: "yield", start } : undefined;
  }
  if (
    (node.type !== "CallExpression" && node.type !== "NewExpression") ||
    !isNode(node.callee)
  ) {
    return undefined;
  }
  const name = text.slice(node.callee.start, node.callee.end);
  const args = text.slice(node.callee.end, node.end);
  if (name === "failpoint") {
    return {
      case: "failpoint",
      name: /^\("([^"]+)"\)$/.exec(args)?.[1] ?? "",
      start,
    };
  }
  if (node.type === "NewExpression") {
    return name === "Worker" ? { case: "step", name, start } : undefined;
  }
  if (isStep(name, args)) return { case: "step", name, start };
  return /^(this\.)?#?\w+$/.test(name)
    ? { case: "local", name, start }
    : undefined;
}

function isStep(name: string, args: string): boolean {
  const [, receiver = "", own = "", method = ""] =
    /^(.*?)(#?)(\w+)$/s.exec(name) ?? [];
  if (receiver === "") {
    return OPEN.test(method)
      ? OPENS_TO_WRITE.test(args)
      : FUNCTIONS.test(method);
  }
  if (method === "exec" || method === "run") return DATABASE.test(receiver);
  // A private method of the class itself is looked at where it stands; its name
  // alone says nothing.
  if (own !== "") return method === "publish" || method === "onAppended";
  return METHODS.test(method);
}
