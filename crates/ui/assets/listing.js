// What pages with a listing have: selecting, editing in the row, moving by hand, columns, and uploading.
import "./batches.js";
import "./cell.js";
import "./columns.js";
import "./grid-start.js";
import "./more.js";
import "./pane.js";
import "./selection.js";
import "./swap.js";
import "./thumbnail.js";
import "./transfer.js";
import "./upload.js";
