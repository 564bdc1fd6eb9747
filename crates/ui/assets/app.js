// What every page has; listings and results have scripts of their own beside it. Everything is a convenience: each page works
// without it.
import "./confirm.js";
import "./copy.js";
import "./counts.js";
import "./dialog.js";
import "./keys.js";
import "./kept-texts.js";
import "./live.js";
import "./menu.js";
import "./people.js";
import "./refresh.js";
import "./submit.js";
import "./suggest.js";
import "./time.js";
import "./toast.js";
import "./tree.js";
import "./undo.js";
import { isKept } from "./uploads-kept.js";

// An upload that was begun on another page goes on here.
if (isKept()) import("./upload.js");
