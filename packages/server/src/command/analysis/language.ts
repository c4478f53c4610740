/** The language that files with an extension are mostly written in; undefined for what is no code. */
export function languageOf(extension: string): string | undefined {
  return LANGUAGES.get(extension.toLowerCase());
}

const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  TypeScript: [".ts", ".tsx", ".mts", ".cts"],
  JavaScript: [".js", ".jsx", ".mjs", ".cjs"],
  Python: [".py", ".pyi"],
  Go: [".go"],
  Rust: [".rs"],
  Java: [".java"],
  Kotlin: [".kt", ".kts"],
  Swift: [".swift"],
  C: [".c", ".h"],
  "C++": [".cc", ".cpp", ".cxx", ".hpp", ".hh"],
  "C#": [".cs"],
  Ruby: [".rb"],
  PHP: [".php"],
  Dart: [".dart"],
  Elixir: [".ex", ".exs"],
  Scala: [".scala"],
  Shell: [".sh", ".bash"],
  "Protocol Buffers": [".proto"],
  SQL: [".sql"],
  HTML: [".html"],
  CSS: [".css", ".scss"],
};

const LANGUAGES: ReadonlyMap<string, string> = new Map(
  Object.entries(EXTENSIONS).flatMap(([name, extensions]) =>
    extensions.map((extension): [string, string] => [extension, name]),
  ),
);
