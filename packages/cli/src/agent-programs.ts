import { delimiter } from "node:path";
import { HostPrograms, sortSearchPath } from "@devtool/sandbox";
import type { Io } from "./io.ts";

/** Where programs are looked up. */
export interface ProgramPlace {
  readonly env: Io["env"];
  /** The directories of workspaces. No program is run from them. */
  readonly workspaces: readonly string[];
}

/** Returns the absolute path of a program that only root and this user can change, and that is in no workspace. */
export function findProgram(name: string, place: ProgramPlace): string | undefined {
  return new HostPrograms(cleanPath(place), []).find(name, place.workspaces);
}

/** Returns the directories of PATH in which only root and this user can change programs, without those of workspaces. */
export function cleanPath({ env, workspaces }: ProgramPlace): string {
  return sortSearchPath(env.PATH ?? "", workspaces).trusted.join(delimiter);
}
