// Everything here is a convenience: each page works without it.
import "./cell.js";
import "./columns.js";
import "./confirm.js";
import "./copy.js";
import "./dialog.js";
import "./keys.js";
import "./menu.js";
import "./more.js";
import "./pane.js";
import "./picture.js";
import "./refresh.js";
import "./selection.js";
import "./shared.js";
import "./swap.js";
import "./time.js";
import "./toast.js";
import "./upload.js";
