/* The one loop over every event of a page, for which Python needs longer than the network does.
 *
 * It does what `_line_breaks.in_python` does, which is used where this was not compiled; a property
 * test holds both together.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <string.h>

PyDoc_STRVAR(break_lines_doc, "See adanalytics_client._line_breaks.in_python.");

static PyObject *
break_lines(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *document, *ending;
    Py_ssize_t at, comma, most;
    if (!PyArg_ParseTuple(arguments, "O!nSnn:break_lines", &PyByteArray_Type, &document, &at,
                          &ending, &comma, &most)) {
        return NULL;
    }
    /* Nothing below calls into Python, so nobody can change the document meanwhile. */
    char *text = PyByteArray_AsString(document);
    const char *end = PyBytes_AsString(ending);
    const Py_ssize_t length = PyByteArray_Size(document), size = PyBytes_Size(ending);
    if (at < 0 || at > length || comma < 0 || comma >= size) {
        PyErr_SetString(PyExc_ValueError, "a place outside of the text");
        return NULL;
    }
    Py_ssize_t done = 0;
    while (done < most) {
        char *brace = memchr(text + at, '}', (size_t)(length - at));
        if (brace == NULL) {
            at = length;
            break;
        }
        at = brace - text;
        if (length - at < size || memcmp(brace, end, (size_t)size) != 0) {
            break;
        }
        brace[comma] = '\n';
        at += size;
        done++;
    }
    return Py_BuildValue("nn", at, done);
}

static PyMethodDef methods[] = {
    {"break_lines", break_lines, METH_VARARGS, break_lines_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "adanalytics_client._speedups",
    .m_doc = "Compiled parts of the client.",
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__speedups(void)
{
    return PyModuleDef_Init(&definition);
}
