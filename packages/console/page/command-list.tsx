import { visibleText } from "@devtool/internal/visible-text";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { type CommandLine, type CommandScope, useCommands } from "./sending.ts";
import { words } from "./words.ts";

/** The slash commands that complete a text, one of which is chosen. */
interface CommandList {
  readonly commands: readonly CommandLine[];
  readonly isListed: boolean;
  /** The index of the chosen one. */
  readonly chosen: number;
  choose(index: number): void;
  /** Puts a command in place of the text. */
  complete(line: string): void;
  /**
   * Moves the choice, or completes. Returns whether the key was for the list.
   */
  takeKey(event: KeyboardEvent): boolean;
}

/** Lists the slash commands that complete a text. */
export function useCommandList(
  scope: CommandScope,
  text: string,
  setText: (text: string) => void,
): CommandList {
  const commands = useCommands(scope, text);
  const [chosen, choose] = useState(0);
  const complete = (line: string): void => {
    setText(`${line} `);
    choose(0);
  };
  const takeKey = ({ key }: KeyboardEvent): boolean => {
    const command = commands[chosen];
    if (commands.length > 0 && (key === "ArrowDown" || key === "ArrowUp")) {
      const step = key === "ArrowDown" ? 1 : -1;
      choose((chosen + step + commands.length) % commands.length);
      return true;
    }
    if (
      !command ||
      !(key === "Tab" || (key === "Enter" && text !== command.line))
    ) {
      return false;
    }
    complete(command.line);
    return true;
  };
  return {
    commands,
    isListed: commands.length > 0,
    chosen,
    choose,
    complete,
    takeKey,
  };
}

interface CommandOptionsProps extends CommandList {
  /** The id of the list in the page. */
  readonly list: string;
}

/** The list of commands above the text. */
export function CommandOptions({
  list,
  commands,
  isListed,
  chosen,
  complete,
}: CommandOptionsProps): ReactNode {
  if (!isListed) return null;
  return (
    <div
      className="commands"
      role="listbox"
      id={list}
      aria-label={words.commands}
    >
      {commands.map(({ line, description }, index) => (
        <div
          key={line}
          id={`${list}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onMouseDown={(event) => {
            event.preventDefault();
            complete(line);
          }}
        >
          <code>{visibleText(line)}</code> {visibleText(description)}
        </div>
      ))}
    </div>
  );
}
