import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.engine.jdbc.dialect.spi.DialectResolutionInfo;
import org.hibernate.engine.jdbc.env.spi.IdentifierCaseStrategy;
import org.hibernate.engine.jdbc.env.spi.IdentifierHelper;
import org.hibernate.engine.jdbc.env.spi.IdentifierHelperBuilder;

/** MySQL through MariaDB's driver, which does not say how names are kept: Hibernate takes them for upper case then. Its MariaDBDialect does the same. */
public class MixedCaseDialect extends MySQLDialect {
  public MixedCaseDialect(DialectResolutionInfo info) { super(info); }

  @Override
  public IdentifierHelper buildIdentifierHelper(IdentifierHelperBuilder builder, DatabaseMetaData metadata) throws SQLException {
    builder.setUnquotedCaseStrategy(IdentifierCaseStrategy.MIXED);
    builder.setQuotedCaseStrategy(IdentifierCaseStrategy.MIXED);
    return super.buildIdentifierHelper(builder, null);
  }
}
