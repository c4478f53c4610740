import { removeTemporaryDirectories } from "@devtool/internal/testing/temporary-directory";
import { afterAll } from "vitest";

afterAll(removeTemporaryDirectories);
