package sampan

import "net/http"

// Group adds routes whose patterns begin with a prefix.
type Group struct {
	server *Server
	prefix string
}

// Group gives routes below a prefix: server.Group("/api").Get("/users", ...) answers "/api/users".
func (s *Server) Group(prefix string) *Group { return &Group{s, prefix} }

// Group gives routes below a further prefix.
func (g *Group) Group(prefix string) *Group { return &Group{g.server, g.prefix + prefix} }

// Handle is [Server.Handle] below the prefix.
func (g *Group) Handle(method, pattern string, handler Handler) *Route {
	return g.server.add(method, g.prefix+pattern, handler)
}

// Get is Handle for GET.
func (g *Group) Get(pattern string, handler Handler) *Route {
	return g.server.add(http.MethodGet, g.prefix+pattern, handler)
}

// Post is Handle for POST.
func (g *Group) Post(pattern string, handler Handler) *Route {
	return g.server.add(http.MethodPost, g.prefix+pattern, handler)
}

// Put is Handle for PUT.
func (g *Group) Put(pattern string, handler Handler) *Route {
	return g.server.add(http.MethodPut, g.prefix+pattern, handler)
}

// Patch is Handle for PATCH.
func (g *Group) Patch(pattern string, handler Handler) *Route {
	return g.server.add(http.MethodPatch, g.prefix+pattern, handler)
}

// Delete is Handle for DELETE.
func (g *Group) Delete(pattern string, handler Handler) *Route {
	return g.server.add(http.MethodDelete, g.prefix+pattern, handler)
}
